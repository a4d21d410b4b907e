use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use kameo::error::{ActorStopReason, Infallible, PanicError};
use kameo::mailbox::{self, MailboxReceiver, Signal};
use kameo::prelude::*;
use kameo::supervision::RestartPolicy;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::orders::Refusal;
use crate::sessions::Sessions;
use crate::store::{Lease, Store};

enum Command {
    Append(u64),
    Count(oneshot::Sender<usize>),
    Close,
}

#[derive(Clone)]
struct SessionArgs {
    key: u64,
    store: Store,
    idle: Duration,
    /// How many messages all instances have taken up.
    handled: Arc<AtomicU64>,
    router: WeakActorRef<Router>,
}

struct Session {
    args: SessionArgs,
    lease: Option<Lease>,
}

impl Actor for Session {
    type Args = SessionArgs;
    type Error = Infallible;

    async fn on_start(args: SessionArgs, _: ActorRef<Self>) -> Result<Self, Infallible> {
        let lease = Some(args.store.open(args.key).await);
        Ok(Self { args, lease })
    }

    /// Reports to the router when no message has come for a while. The router knows whether one is on its way.
    async fn next(
        &mut self,
        _: WeakActorRef<Self>,
        mailbox: &mut MailboxReceiver<Self>,
    ) -> Result<Option<Signal<Self>>, Infallible> {
        if let Ok(signal) = timeout(self.args.idle, mailbox.recv()).await {
            return Ok(signal);
        }
        if let Some(router) = self.args.router.upgrade() {
            let idle = Idle { key: self.args.key, handled: self.args.handled.load(Relaxed) };
            let _has_ended = router.tell(idle).send().await;
        }
        Ok(mailbox.recv().await)
    }

    /// The next instance may open the key before this one is dropped.
    async fn on_panic(
        &mut self,
        _: WeakActorRef<Self>,
        error: PanicError,
    ) -> Result<ControlFlow<ActorStopReason>, Infallible> {
        self.lease = None;
        Ok(ControlFlow::Break(ActorStopReason::Panicked(error)))
    }
}

impl Message<Command> for Session {
    type Reply = ();

    async fn handle(&mut self, command: Command, ctx: &mut Context<Self, ()>) {
        self.args.handled.fetch_add(1, Relaxed);
        let Some(lease) = &mut self.lease else { return };
        match command {
            Command::Append(number) => lease.append(number).await,
            Command::Count(reply) => {
                let _asker_is_gone = reply.send(lease.count());
            }
            // Here and not in `on_stop`, which runs after the router has heard of the end.
            Command::Close => {
                if let Some(lease) = self.lease.take() {
                    lease.close().await;
                }
                ctx.stop();
            }
        }
    }
}

/// A session as the router knows it.
struct Known {
    session: ActorRef<Session>,
    handled: Arc<AtomicU64>,
    sent: u64,
    /// What has arrived since the session was told to close.
    closing: Option<Vec<Command>>,
}

/// All messages go through the router, so that none is lost between two sessions.
struct Router {
    this: ActorRef<Self>,
    store: Store,
    idle: Duration,
    known: HashMap<u64, Known>,
    keys: HashMap<ActorId, u64>,
    stopping: bool,
}

impl Router {
    async fn start_session(&mut self, key: u64) -> Known {
        let handled = Arc::new(AtomicU64::new(0));
        let args = SessionArgs {
            key,
            store: self.store.clone(),
            idle: self.idle,
            handled: Arc::clone(&handled),
            router: self.this.downgrade(),
        };
        let session = Session::supervise(&self.this, args)
            .restart_policy(RestartPolicy::Transient)
            .restart_limit(u32::MAX, Duration::from_secs(1))
            .spawn_with_mailbox(mailbox::unbounded())
            .await;
        self.keys.insert(session.id(), key);
        Known { session, handled, sent: 0, closing: None }
    }
}

impl Known {
    async fn send(&mut self, command: Command) {
        if let Some(later) = &mut self.closing {
            later.push(command);
        } else {
            self.sent += 1;
            let _unbounded = self.session.tell(command).send().await;
        }
    }

    async fn close(&mut self) {
        self.send(Command::Close).await;
        self.closing.get_or_insert_default();
    }
}

impl Actor for Router {
    type Args = (Store, Duration);
    type Error = Infallible;

    async fn on_start((store, idle): Self::Args, this: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(Self { this, store, idle, known: HashMap::new(), keys: HashMap::new(), stopping: false })
    }

    /// A session has closed.
    async fn on_link_died(
        &mut self,
        _: WeakActorRef<Self>,
        id: ActorId,
        _: ActorStopReason,
    ) -> Result<ControlFlow<ActorStopReason>, Infallible> {
        let gone = self.keys.remove(&id).and_then(|key| Some((key, self.known.remove(&key)?)));
        if let Some((key, Known { closing: Some(later), .. })) = gone
            && !later.is_empty()
        {
            let mut next = self.start_session(key).await;
            for command in later {
                next.send(command).await;
            }
            if self.stopping {
                next.close().await;
            }
            self.known.insert(key, next);
        }
        let done = self.stopping && self.known.is_empty();
        Ok(if done { ControlFlow::Break(ActorStopReason::Normal) } else { ControlFlow::Continue(()) })
    }
}

struct Route {
    key: u64,
    command: Command,
}

impl Message<Route> for Router {
    type Reply = ();

    async fn handle(&mut self, Route { key, command }: Route, _: &mut Context<Self, ()>) {
        if !self.known.contains_key(&key) {
            let session = self.start_session(key).await;
            self.known.insert(key, session);
        }
        if let Entry::Occupied(mut session) = self.known.entry(key) {
            session.get_mut().send(command).await;
        }
    }
}

struct Idle {
    key: u64,
    handled: u64,
}

impl Message<Idle> for Router {
    type Reply = ();

    async fn handle(&mut self, Idle { key, handled }: Idle, _: &mut Context<Self, ()>) {
        if let Some(session) = self.known.get_mut(&key)
            && session.sent == handled
            && session.handled.load(Relaxed) == handled
            && session.closing.is_none()
        {
            session.close().await;
        }
    }
}

struct Stop;

impl Message<Stop> for Router {
    type Reply = ();

    async fn handle(&mut self, Stop: Stop, ctx: &mut Context<Self, ()>) {
        self.stopping = true;
        if self.known.is_empty() {
            ctx.stop();
        }
        for session in self.known.values_mut().filter(|session| session.closing.is_none()) {
            session.close().await;
        }
    }
}

pub struct Registry {
    router: ActorRef<Router>,
}

impl Registry {
    async fn send(&self, key: u64, command: Command) -> Result<(), Refusal> {
        self.router.tell(Route { key, command }).send().await.map_err(|_| Refusal::Stopped)
    }
}

impl Sessions for Registry {
    async fn start(store: Store, idle: Duration) -> Self {
        Self { router: Router::spawn((store, idle)) }
    }

    async fn append(&self, key: u64, number: u64) -> Result<(), Refusal> {
        self.send(key, Command::Append(number)).await
    }

    async fn count(&self, key: u64) -> Result<usize, Refusal> {
        let (reply, count) = oneshot::channel();
        self.send(key, Command::Count(reply)).await?;
        count.await.map_err(|_| Refusal::Failed)
    }

    async fn stop(&self) {
        let _has_ended = self.router.tell(Stop).send().await;
        self.router.wait_for_shutdown().await;
    }
}
