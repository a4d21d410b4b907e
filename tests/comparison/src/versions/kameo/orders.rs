use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use kameo::error::{Infallible, SendError};
use kameo::mailbox;
use kameo::prelude::*;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::database::{Connection, DbError, Order};
use crate::orders::{LONGEST, Orders, Refusal, SHORTEST, Settings};

struct Writer {
    connection: Connection,
}

impl Actor for Writer {
    type Args = (Settings, watch::Sender<Option<String>>);
    type Error = DbError;

    /// Connects. A restart comes without a delay, so the delays are here.
    async fn on_start((settings, given_up): Self::Args, _: ActorRef<Self>) -> Result<Self, DbError> {
        let begun = Instant::now();
        let mut delay = SHORTEST;
        loop {
            match Connection::open(settings.server).await {
                Ok(connection) => return Ok(Self { connection }),
                Err(error) if begun.elapsed() >= settings.give_up_after => {
                    // Not through the supervisor: it does not end while a writer cannot start and its mailbox is full.
                    given_up.send_replace(Some(error.to_string()));
                    return Err(error);
                }
                Err(_) => sleep(delay).await,
            }
            delay = LONGEST.min(delay * 2);
        }
    }
}

struct Place {
    order: Order,
    /// When its caller gives up.
    until: Instant,
}

impl Message<Place> for Writer {
    type Reply = Result<(), Refusal>;

    async fn handle(
        &mut self,
        Place { order, until }: Place,
        ctx: &mut Context<Self, Self::Reply>,
    ) -> Self::Reply {
        if Instant::now() >= until {
            return Err(Refusal::Late);
        }
        self.connection.insert(order).await.map_err(|error| match error {
            DbError::Rejected => Refusal::Rejected,
            DbError::Disconnected(_) => {
                // In kameo, the error of an ask is only a reply. The supervisor restarts every actor that stops.
                ctx.stop();
                Refusal::Failed
            }
        })
    }
}

struct Writers {
    all: Vec<ActorRef<Writer>>,
}

impl Actor for Writers {
    type Args = (Settings, watch::Sender<Option<String>>);
    type Error = Infallible;

    async fn on_start((settings, given_up): Self::Args, this: ActorRef<Self>) -> Result<Self, Infallible> {
        let mut all = Vec::new();
        for _ in 0..settings.writers {
            let writer = Writer::supervise(&this, (settings, given_up.clone()))
                // Every restart policy counts restarts, and the count includes both panics and broken connections.
                .restart_limit(u32::MAX, Duration::from_secs(1))
                .spawn_with_mailbox(mailbox::bounded(settings.waiting / settings.writers))
                .await;
            all.push(writer);
        }
        Ok(Self { all })
    }
}

struct All;

impl Message<All> for Writers {
    type Reply = Vec<ActorRef<Writer>>;

    async fn handle(&mut self, All: All, _: &mut Context<Self, Self::Reply>) -> Self::Reply {
        self.all.clone()
    }
}

pub struct Shop {
    writers: ActorRef<Writers>,
    all: Vec<ActorRef<Writer>>,
    turn: AtomicUsize,
    limit: Duration,
    given_up: watch::Receiver<Option<String>>,
}

impl Shop {
    fn has_stopped(&self) -> bool {
        self.given_up.borrow().is_some() || !self.writers.is_alive()
    }
}

impl Orders for Shop {
    async fn start(settings: Settings) -> Self {
        let (reason, given_up) = watch::channel(None);
        let writers = Writers::spawn((settings, reason));
        let all = writers.ask(All).await.expect("it has started");
        Self { writers, all, turn: AtomicUsize::new(0), limit: settings.limit, given_up }
    }

    async fn place(&self, order: Order) -> Result<(), Refusal> {
        if self.has_stopped() {
            return Err(Refusal::Stopped);
        }
        let writer = &self.all[self.turn.fetch_add(1, Relaxed) % self.all.len()];
        let place = Place { order, until: Instant::now() + self.limit };
        writer.ask(place).reply_timeout(self.limit).try_send().await.map_err(|error| match error {
            SendError::HandlerError(refusal) => refusal,
            SendError::MailboxFull(_) => Refusal::Busy,
            SendError::Timeout(_) => Refusal::Late,
            // Its writer has panicked, has restarted while it waited, or has ended.
            _ if self.has_stopped() => Refusal::Stopped,
            _ => Refusal::Failed,
        })
    }

    async fn ended(&self) -> String {
        let mut given_up = self.given_up.clone();
        let reason = given_up.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        reason.unwrap_or_default()
    }

    async fn stop(&self) {
        // Each writer handles what waits in its mailbox, and then ends.
        let _has_ended = self.writers.stop_gracefully().await;
        let _late = timeout(self.limit, self.writers.wait_for_shutdown()).await;
    }
}
