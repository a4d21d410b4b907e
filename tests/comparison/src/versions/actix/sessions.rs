use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use actix::prelude::*;
use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::orders::Refusal;
use crate::sessions::Sessions;
use crate::store::{Lease, Store};

#[derive(Message)]
#[rtype(result = "()")]
enum Command {
    Append(u64),
    Count(oneshot::Sender<usize>),
    Close,
}

struct Session {
    key: u64,
    store: Store,
    idle: Duration,
    router: Addr<Router>,
    lease: Option<Lease>,
    /// How many messages it has taken up.
    handled: u64,
    used: Instant,
}

impl Session {
    /// Opens the key, and handles no message before that.
    fn open(&mut self, ctx: &mut Context<Self>) {
        let (store, key) = (self.store.clone(), self.key);
        let opened = async move { store.open(key).await };
        ctx.wait(opened.into_actor(self).map(|lease, this, _| this.lease = Some(lease)));
    }
}

impl Actor for Session {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.open(ctx);
        ctx.run_interval(self.idle / 4, |this, _| {
            if this.used.elapsed() >= this.idle {
                this.router.do_send(Idle { key: this.key, handled: this.handled });
            }
        });
    }
}

impl Handler<Command> for Session {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, command: Command, _: &mut Context<Self>) -> Self::Result {
        self.handled += 1;
        self.used = Instant::now();
        let lease = self.lease.take();
        let work = async move {
            let mut lease = lease?;
            match command {
                Command::Append(number) => lease.append(number).await,
                Command::Count(reply) => {
                    let _asker_is_gone = reply.send(lease.count());
                }
                Command::Close => {
                    lease.close().await;
                    return None;
                }
            }
            Some(lease)
        };
        // A panic would end the actor, and its mailbox with it.
        let work = AssertUnwindSafe(work).catch_unwind();
        AtomicResponse::new(Box::pin(work.into_actor(self).map(|result, this, ctx| match result {
            Ok(Some(lease)) => this.lease = Some(lease),
            Ok(None) => {
                this.router.do_send(Closed(this.key));
                ctx.stop();
            }
            Err(_) => this.open(ctx),
        })))
    }
}

/// A session as the router knows it.
struct Known {
    session: Addr<Session>,
    sent: u64,
    /// What has arrived since the session was told to close.
    closing: Option<Vec<Command>>,
}

impl Known {
    fn send(&mut self, command: Command) {
        if let Some(later) = &mut self.closing {
            later.push(command);
        } else {
            self.sent += 1;
            self.session.do_send(command);
        }
    }

    fn close(&mut self) {
        self.send(Command::Close);
        self.closing.get_or_insert_default();
    }
}

/// All messages go through the router, so that none is lost between two sessions.
struct Router {
    store: Store,
    idle: Duration,
    arbiters: Vec<ArbiterHandle>,
    known: HashMap<u64, Known>,
    stopping: Option<oneshot::Sender<()>>,
}

impl Router {
    fn start_session(&self, key: u64, this: Addr<Self>) -> Known {
        let (store, idle) = (self.store.clone(), self.idle);
        let arbiter = &self.arbiters[usize::from(!key.is_multiple_of(2))];
        let session = Session::start_in_arbiter(arbiter, move |_| Session {
            key,
            store,
            idle,
            router: this,
            lease: None,
            handled: 0,
            used: Instant::now(),
        });
        Known { session, sent: 0, closing: None }
    }

    fn end_if_done(&mut self) {
        if self.known.is_empty()
            && let Some(stopped) = self.stopping.take()
        {
            let _nobody_waits = stopped.send(());
        }
    }
}

impl Actor for Router {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
struct Route(u64, Command);

impl Handler<Route> for Router {
    type Result = ();

    fn handle(&mut self, Route(key, command): Route, ctx: &mut Context<Self>) {
        if !self.known.contains_key(&key) {
            let session = self.start_session(key, ctx.address());
            self.known.insert(key, session);
        }
        if let Some(known) = self.known.get_mut(&key) {
            known.send(command);
        }
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Idle {
    key: u64,
    handled: u64,
}

impl Handler<Idle> for Router {
    type Result = ();

    fn handle(&mut self, Idle { key, handled }: Idle, _: &mut Context<Self>) {
        if let Some(known) = self.known.get_mut(&key)
            && known.sent == handled
            && known.closing.is_none()
        {
            known.close();
        }
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Closed(u64);

impl Handler<Closed> for Router {
    type Result = ();

    fn handle(&mut self, Closed(key): Closed, ctx: &mut Context<Self>) {
        let later = self.known.remove(&key).and_then(|known| known.closing).unwrap_or_default();
        if !later.is_empty() {
            let mut next = self.start_session(key, ctx.address());
            for command in later {
                next.send(command);
            }
            if self.stopping.is_some() {
                next.close();
            }
            self.known.insert(key, next);
        }
        self.end_if_done();
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Stop(oneshot::Sender<()>);

impl Handler<Stop> for Router {
    type Result = ();

    fn handle(&mut self, Stop(stopped): Stop, _: &mut Context<Self>) {
        self.stopping = Some(stopped);
        self.known.values_mut().filter(|known| known.closing.is_none()).for_each(Known::close);
        self.end_if_done();
    }
}

pub struct Registry {
    arbiters: Vec<Arbiter>,
    router: Addr<Router>,
}

impl Sessions for Registry {
    async fn start(store: Store, idle: Duration) -> Self {
        let arbiters: Vec<_> = (0..2).map(|_| Arbiter::new()).collect();
        let handles = arbiters.iter().map(Arbiter::handle).collect();
        let router = Router::start_in_arbiter(&arbiters[0].handle(), move |_| Router {
            store,
            idle,
            arbiters: handles,
            known: HashMap::new(),
            stopping: None,
        });
        Self { arbiters, router }
    }

    async fn append(&self, key: u64, number: u64) -> Result<(), Refusal> {
        if !self.router.connected() {
            return Err(Refusal::Stopped);
        }
        self.router.do_send(Route(key, Command::Append(number)));
        Ok(())
    }

    async fn count(&self, key: u64) -> Result<usize, Refusal> {
        let (reply, count) = oneshot::channel();
        self.router.do_send(Route(key, Command::Count(reply)));
        count.await.map_err(|_| Refusal::Failed)
    }

    async fn stop(&self) {
        let (stopped, all_have) = oneshot::channel();
        self.router.do_send(Stop(stopped));
        let _the_router_has_ended = all_have.await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }
}
