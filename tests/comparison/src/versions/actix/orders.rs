use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use actix::prelude::*;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::database::{Connection, DbError, Order};
use crate::orders::{LONGEST, Orders, Refusal, SHORTEST, Settings};

struct Writer {
    settings: Settings,
    given_up: watch::Sender<Option<String>>,
    connection: Option<Connection>,
    delay: Duration,
    connected: Instant,
}

impl Actor for Writer {
    type Context = Context<Self>;

    /// Connects, and handles no message before that.
    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(self.settings.waiting / self.settings.writers);
        let (settings, mut delay, begun) = (self.settings, self.delay, Instant::now());
        let connected = async move {
            loop {
                match Connection::open(settings.server).await {
                    Ok(connection) => return Ok((connection, delay)),
                    Err(error) if begun.elapsed() >= settings.give_up_after => return Err(error),
                    Err(_) => sleep(delay).await,
                }
                delay = LONGEST.min(delay * 2);
            }
        };
        ctx.wait(connected.into_actor(self).map(|result, this, _| match result {
            Ok((connection, delay)) => {
                this.connection = Some(connection);
                this.delay = delay;
                this.connected = Instant::now();
            }
            Err(error) => {
                this.given_up.send_replace(Some(error.to_string()));
                Arbiter::current().stop();
            }
        }));
    }
}

impl Supervised for Writer {
    /// The supervisor starts the same instance again, with its mailbox.
    fn restarting(&mut self, _: &mut Context<Self>) {
        if self.connected.elapsed() >= LONGEST {
            self.delay = SHORTEST;
        }
    }
}

/// `send` waits for room, and `try_send` has no reply, so the message has a channel for it.
#[derive(Message)]
#[rtype(result = "()")]
struct Place {
    order: Order,
    reply: oneshot::Sender<Result<(), Refusal>>,
}

impl Handler<Place> for Writer {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, Place { order, reply }: Place, _: &mut Context<Self>) -> Self::Result {
        let connection = if reply.is_closed() { None } else { self.connection.take() };
        let written = async move {
            let mut connection = connection?;
            // The supervisor does not restart an actor that panics.
            let result = AssertUnwindSafe(connection.insert(order)).catch_unwind().await;
            Some((result, connection))
        };
        AtomicResponse::new(Box::pin(written.into_actor(self).map(move |written, this, ctx| {
            let Some((result, connection)) = written else { return };
            let answer = match result {
                Ok(Ok(())) => Ok(()),
                Ok(Err(DbError::Rejected)) => Err(Refusal::Rejected),
                Ok(Err(DbError::Disconnected(_))) | Err(_) => Err(Refusal::Failed),
            };
            if answer == Err(Refusal::Failed) {
                ctx.stop();
            } else {
                this.connection = Some(connection);
            }
            let _caller_is_gone = reply.send(answer);
        })))
    }
}

/// Answered when the orders before it are written.
#[derive(Message)]
#[rtype(result = "()")]
struct Finish;

impl Handler<Finish> for Writer {
    type Result = ();

    fn handle(&mut self, Finish: Finish, _: &mut Context<Self>) {
        self.connection = None;
    }
}

pub struct Shop {
    arbiters: Vec<Arbiter>,
    writers: Vec<Addr<Writer>>,
    turn: AtomicUsize,
    limit: Duration,
    given_up: watch::Receiver<Option<String>>,
    stopping: AtomicBool,
}

impl Shop {
    fn has_stopped(&self) -> bool {
        self.stopping.load(Relaxed) || self.given_up.borrow().is_some()
    }
}

impl Orders for Shop {
    async fn start(settings: Settings) -> Self {
        let (given_up, receiver) = watch::channel(None);
        let arbiters: Vec<_> = (0..2).map(|_| Arbiter::new()).collect();
        let writer = |number: usize| {
            let given_up = given_up.clone();
            Supervisor::start_in_arbiter(&arbiters[number % 2].handle(), move |_| Writer {
                settings,
                given_up,
                connection: None,
                delay: SHORTEST,
                connected: Instant::now(),
            })
        };
        let writers = (0..settings.writers).map(writer).collect();
        let (turn, stopping) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { arbiters, writers, turn, limit: settings.limit, given_up: receiver, stopping }
    }

    async fn place(&self, order: Order) -> Result<(), Refusal> {
        if self.has_stopped() {
            return Err(Refusal::Stopped);
        }
        let writer = &self.writers[self.turn.fetch_add(1, Relaxed) % self.writers.len()];
        let (reply, answer) = oneshot::channel();
        writer.try_send(Place { order, reply }).map_err(|error| match error {
            SendError::Full(_) => Refusal::Busy,
            SendError::Closed(_) => Refusal::Stopped,
        })?;
        match timeout(self.limit, answer).await {
            Ok(Ok(result)) => result,
            // It was dropped with its writer.
            Ok(Err(_)) => Err(if self.has_stopped() { Refusal::Stopped } else { Refusal::Failed }),
            Err(_) => Err(Refusal::Late),
        }
    }

    async fn ended(&self) -> String {
        let mut given_up = self.given_up.clone();
        let reason = given_up.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        reason.unwrap_or_default()
    }

    async fn stop(&self) {
        self.stopping.store(true, Relaxed);
        let finished = join_all(self.writers.iter().map(|writer| writer.send(Finish)));
        let _late = timeout(self.limit, finished).await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }
}
