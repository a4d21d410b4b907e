use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, ActorRuntime, SupervisionEvent};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::orders::Refusal;
use crate::sessions::Sessions;
use crate::store::{Lease, Store};

enum Command {
    Append(u64),
    Count(oneshot::Sender<usize>),
}

struct Session;

struct SessionState {
    key: u64,
    lease: Option<Lease>,
    router: ActorRef<Routing>,
}

impl Actor for Session {
    type Msg = Command;
    type State = SessionState;
    type Arguments = (u64, Store, ActorRef<Routing>);

    async fn pre_start(
        &self,
        _: ActorRef<Command>,
        (key, store, router): Self::Arguments,
    ) -> Result<SessionState, ActorProcessingErr> {
        Ok(SessionState { key, lease: Some(store.open(key).await), router })
    }

    async fn handle(
        &self,
        _: ActorRef<Command>,
        command: Command,
        state: &mut SessionState,
    ) -> Result<(), ActorProcessingErr> {
        // The router hears of a panic before this state is dropped, so the lease is not in it meanwhile.
        let Some(mut lease) = state.lease.take() else { return Ok(()) };
        match command {
            Command::Append(number) => lease.append(number).await,
            Command::Count(reply) => {
                let _asker_is_gone = reply.send(lease.count());
            }
        }
        state.lease = Some(lease);
        Ok(state.router.cast(Routing::Done(state.key))?)
    }

    async fn post_stop(&self, _: ActorRef<Command>, state: &mut SessionState) -> Result<(), ActorProcessingErr> {
        if let Some(lease) = state.lease.take() {
            lease.close().await;
        }
        Ok(())
    }
}

enum Routing {
    Route(u64, Command),
    /// The session of this key has handled its message.
    Done(u64),
    /// Looks for idle sessions.
    Sweep,
    Stop,
}

/// A session as the router knows it. A mailbox is lost with its actor, so messages wait here.
struct Known {
    session: ActorRef<Command>,
    waiting: VecDeque<Command>,
    busy: bool,
    ending: bool,
    used: Instant,
}

struct Router;

struct RouterState {
    store: Store,
    idle: Duration,
    known: HashMap<u64, Known>,
    keys: HashMap<ActorId, u64>,
    stopping: bool,
}

impl RouterState {
    /// Starts a session, and does not wait until it has opened its key.
    fn start_session(
        &mut self,
        key: u64,
        this: &ActorRef<Routing>,
    ) -> Result<ActorRef<Command>, ActorProcessingErr> {
        let arguments = (key, self.store.clone(), this.clone());
        let (session, _) = ActorRuntime::spawn_linked_instant(None, Session, arguments, this.get_cell())?;
        self.keys.insert(session.get_id(), key);
        Ok(session)
    }

    /// A session has ended, or has panicked.
    fn gone(&mut self, id: ActorId, this: &ActorRef<Routing>) -> Result<(), ActorProcessingErr> {
        let Some(key) = self.keys.remove(&id) else { return Ok(()) };
        let Some(mut known) = self.known.remove(&key) else { return Ok(()) };
        if !known.waiting.is_empty() || !known.ending {
            known.session = self.start_session(key, this)?;
            (known.busy, known.ending, known.used) = (false, false, Instant::now());
            known.advance(self.stopping)?;
            self.known.insert(key, known);
        }
        if self.stopping && self.known.is_empty() {
            this.stop(None);
        }
        Ok(())
    }
}

impl Known {
    /// Gives the session its next message, or ends it if it should end.
    fn advance(&mut self, should_end: bool) -> Result<(), ActorProcessingErr> {
        if self.busy || self.ending {
            return Ok(());
        }
        if let Some(command) = self.waiting.pop_front() {
            self.busy = true;
            self.used = Instant::now();
            self.session.cast(command)?;
        } else if should_end {
            self.ending = true;
            self.session.stop(None);
        }
        Ok(())
    }
}

impl Actor for Router {
    type Msg = Routing;
    type State = RouterState;
    type Arguments = (Store, Duration);

    async fn pre_start(
        &self,
        this: ActorRef<Routing>,
        (store, idle): Self::Arguments,
    ) -> Result<RouterState, ActorProcessingErr> {
        this.send_interval(idle / 4, || Routing::Sweep);
        Ok(RouterState { store, idle, known: HashMap::new(), keys: HashMap::new(), stopping: false })
    }

    async fn handle(
        &self,
        this: ActorRef<Routing>,
        message: Routing,
        state: &mut RouterState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Routing::Route(key, command) => {
                if !state.known.contains_key(&key) {
                    let session = state.start_session(key, &this)?;
                    let (waiting, used) = (VecDeque::new(), Instant::now());
                    state.known.insert(key, Known { session, waiting, busy: false, ending: false, used });
                }
                if let Entry::Occupied(mut known) = state.known.entry(key) {
                    known.get_mut().waiting.push_back(command);
                    known.get_mut().advance(false)?;
                }
            }
            Routing::Done(key) => {
                if let Some(known) = state.known.get_mut(&key) {
                    known.busy = false;
                    known.advance(state.stopping)?;
                }
            }
            Routing::Sweep => {
                for known in state.known.values_mut() {
                    known.advance(known.used.elapsed() >= state.idle)?;
                }
            }
            Routing::Stop => {
                state.stopping = true;
                for known in state.known.values_mut() {
                    known.advance(true)?;
                }
                if state.known.is_empty() {
                    this.stop(None);
                }
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        this: ActorRef<Routing>,
        event: SupervisionEvent,
        state: &mut RouterState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(who, ..) | SupervisionEvent::ActorFailed(who, _) => {
                state.gone(who.get_id(), &this)
            }
            _ => Ok(()),
        }
    }
}

pub struct Registry {
    router: ActorRef<Routing>,
}

impl Sessions for Registry {
    async fn start(store: Store, idle: Duration) -> Self {
        let (router, _) = Actor::spawn(None, Router, (store, idle)).await.expect("it starts");
        Self { router }
    }

    async fn append(&self, key: u64, number: u64) -> Result<(), Refusal> {
        self.router.cast(Routing::Route(key, Command::Append(number))).map_err(|_| Refusal::Stopped)
    }

    async fn count(&self, key: u64) -> Result<usize, Refusal> {
        let (reply, count) = oneshot::channel();
        self.router.cast(Routing::Route(key, Command::Count(reply))).map_err(|_| Refusal::Stopped)?;
        count.await.map_err(|_| Refusal::Failed)
    }

    async fn stop(&self) {
        let _has_ended = self.router.cast(Routing::Stop);
        let _never_late = self.router.wait(None).await;
    }
}
