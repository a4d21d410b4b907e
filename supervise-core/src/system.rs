//! An actor system: the tree's upper end, its events, its end. Nothing here is global; systems stand alone.
//!
//! ```text
//!   /            stops any guardian that fails; ends when /system has ended
//!   ├── user     your actors; ends on `terminate()`
//!   └── system   the runtime's own; ends when /user has ended
//! ```

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::actor::{Actor, Built, RefOf};
use crate::actor_ref::{ActorRef, AnyActorRef, TypedRef};
use crate::cell::{AnyCell, Cell, Core, NewName, SpawnError, System};
use crate::coordinated_shutdown::{InvalidShutdown, ShutdownReason, ShutdownSettings, ShutdownState};
use crate::dead_letter::LineCount;
use crate::dispatch::{self, Dispatcher};
use crate::event::EventStream;
use crate::failure::Failure;
use crate::guardian::Guardian;
use crate::mailbox::Mailbox;
use crate::observe;
use crate::path::{InvalidName, check_system_name};
use crate::props::Props;
use crate::supervision::{ChildId, ChildInfo, Directive, Protocol, Strategy, Time, stopping_decider};
use crate::termination::Termination;
use crate::tree::{DeciderTable, Kind, Rule};
use crate::unwind::{contained, drop_quietly};

/// A handle to an actor system. Cheap to clone; dropping it stops nobody.
#[derive(Clone)]
pub struct ActorSystem {
    core: Arc<SystemCore>,
}

/// How a system ended; `None` while it runs.
pub(crate) type End = Option<Result<(), Failure>>;

/// What all cells of a system share.
pub(crate) struct SystemCore {
    name: String,
    runtime: Handle,
    dispatcher: Dispatcher,
    began: Instant,
    events: EventStream,
    guardians: OnceLock<Guardians>,
    end: watch::Sender<End>,
    /// What the system ends with, if that is a failure.
    failure: OnceLock<Failure>,
    shutdown: ShutdownState,
    termination: Termination,
    dead_letters: Mutex<LineCount>,
    #[cfg(feature = "testkit")]
    activity: crate::testkit::Activity,
}

/// Not held by the system, which they hold: they live as long as they run, or somebody has a ref.
struct Guardians {
    root: Weak<dyn AnyCell>,
    user: Weak<dyn AnyCell>,
    system: Weak<dyn AnyCell>,
}

impl ActorSystem {
    /// Starts a system on the ambient tokio runtime.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, in one without timers, or if the name is none: letters, digits, and after the first character
    /// `-` and `_`. [`ActorSystemBuilder::start`] gives an error instead.
    pub fn new(name: impl AsRef<str>) -> Self {
        match Self::builder(name).start() {
            Ok(system) => system,
            Err(error) => panic!("{error}"),
        }
    }

    /// A system with settings of its own.
    pub fn builder(name: impl AsRef<str>) -> ActorSystemBuilder {
        ActorSystemBuilder {
            name: name.as_ref().to_owned(),
            guardian: None,
            event_capacity: 4096,
            shutdown: ShutdownSettings::new(),
        }
    }

    #[cfg(feature = "testkit")]
    pub(crate) fn activity(&self) -> &crate::testkit::Activity {
        self.core.activity()
    }

    pub(crate) fn core(&self) -> &Arc<SystemCore> {
        &self.core
    }

    pub(crate) fn of(core: &Core) -> Self {
        Self { core: Arc::clone(&core.system) }
    }

    /// The system's name.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// Makes a top-level actor, a child of `/user`. The ref can be used at once; the factory runs on the actor's own
    /// turn, and again at each restart.
    ///
    /// # Errors
    ///
    /// If the name is invalid or taken, or the system is terminating.
    pub fn spawn<B, F>(&self, name: impl AsRef<str>, factory: F) -> Result<RefOf<B::Actor>, SpawnError>
    where
        F: FnMut() -> B + Send + 'static,
        B: Built,
    {
        self.spawn_with(name, Props::new(factory))
    }

    /// Like [`spawn`](Self::spawn), under a made-up name: `$a`, `$b`, …
    ///
    /// # Errors
    ///
    /// If the system is terminating.
    pub fn spawn_anonymous<B, F>(&self, factory: F) -> Result<RefOf<B::Actor>, SpawnError>
    where
        F: FnMut() -> B + Send + 'static,
        B: Built,
    {
        Cell::spawn_under(&self.user_guardian(), NewName::MadeUp, Props::new(factory)).map(Into::into)
    }

    /// Like [`spawn`](Self::spawn), with settings of its own.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_with<A: Actor, C>(
        &self,
        name: impl AsRef<str>,
        props: Props<A, C>,
    ) -> Result<RefOf<A>, SpawnError> {
        Cell::spawn_under(&self.user_guardian(), NewName::Given(name.as_ref()), props).map(Into::into)
    }

    /// Makes an actor of the runtime's own, a child of `/system`.
    pub(crate) fn spawn_system<A: Actor, C>(&self, props: Props<A, C>) -> Result<RefOf<A>, SpawnError> {
        Cell::spawn_under(&self.system_guardian(), NewName::MadeUp, props).map(Into::into)
    }

    /// Requests the stop of an actor: it finishes its current message, then stops its children, then itself.
    pub fn stop<R: TypedRef>(&self, actor: &R) {
        actor.actor_ref().stop();
    }

    /// The guardian `/user`.
    pub fn user_guardian(&self) -> AnyActorRef {
        self.core.guardian("user", |guardians| &guardians.user)
    }

    /// The guardian `/system`.
    pub fn system_guardian(&self) -> AnyActorRef {
        self.core.guardian("system", |guardians| &guardians.system)
    }

    /// What happens in this system.
    pub fn events(&self) -> &EventStream {
        &self.core.events
    }

    /// Runs the [coordinated shutdown](Self::coordinated_shutdown), ends all actors, children before their parents, and
    /// waits until the last one has ended. Called twice, both calls wait for the one end.
    ///
    /// A coordinated shutdown that is aborted ends the system all the same. Whether the system ended with a failure is what
    /// [`when_terminated`](Self::when_terminated) says afterwards.
    ///
    /// Awaited in a handler or hook of one of the system's own actors, it does not wait: the end comes when that handler has
    /// returned (rule 9.2).
    ///
    /// # Cancel safety
    ///
    /// The system ends whether or not the future is awaited to its end, once it was polled.
    pub async fn terminate(&self) {
        if self.core.shutdown.concerns_terminate() {
            let system = self.clone();
            dispatch::start(&self.core, async move {
                // Why it was aborted was said when it was.
                let _how = system.coordinated_shutdown().run(ShutdownReason::Terminate).await;
                system.user_guardian().stop();
            });
        } else {
            self.user_guardian().stop();
        }
        // The end waits for the code that runs on this actor's turn.
        if !self.core.dispatcher.is_here() {
            // Why a guardian failed was said when it did.
            let _how = self.when_terminated().await;
        }
    }

    /// Whether the system has ended.
    pub fn has_terminated(&self) -> bool {
        self.core.end.borrow().is_some()
    }

    /// Waits until the system has ended. A `main` that returns what this gives exits with an error code, and prints the failure,
    /// when the system did not end as it was told to:
    ///
    /// ```
    /// # use supervise_core::ActorSystem;
    /// #[tokio::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let system = ActorSystem::new("shop");
    ///     // spawn actors, serve
    ///     system.terminate().await;
    ///     Ok(system.when_terminated().await?)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The failure that ended the system (rule 9.1): what `/user` escalated, what another guardian failed with, or
    /// [`RuntimeGone`] if its runtime was shut down first. No task of the coordinated shutdown runs then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future forgets nothing.
    pub async fn when_terminated(&self) -> Result<(), Failure> {
        let mut end = self.core.end.subscribe();
        match end.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or(Ok(())),
            Err(_) => unreachable!("the sender lives as long as this handle"),
        }
    }
}

impl fmt::Debug for ActorSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActorSystem").field("name", &self.core.name).finish_non_exhaustive()
    }
}

/// Settings of a system to be.
pub struct ActorSystemBuilder {
    name: String,
    guardian: Option<(Strategy, Box<GuardianDecider>)>,
    event_capacity: usize,
    shutdown: ShutdownSettings,
}

type GuardianDecider = dyn Fn(&Failure, &ChildInfo) -> Result<Directive, Failure> + Send;

/// Why a system could not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The name is none.
    #[error("cannot start an actor system: {0}")]
    InvalidName(InvalidName),
    /// There is no tokio runtime to run on.
    #[error(
        "cannot start an actor system: there is no tokio runtime here; start it within `#[tokio::main]`, \
         `#[tokio::test]` or `Runtime::block_on`"
    )]
    NoRuntime,
    /// The runtime has no timers, so that no delay, timeout or backoff would ever be over.
    #[error(
        "cannot start an actor system: this tokio runtime has no timers; build it with `enable_time()` or `enable_all()`"
    )]
    NoTimers,
    /// The settings of the coordinated shutdown make no sense.
    #[error("cannot start an actor system: {0}")]
    InvalidShutdown(InvalidShutdown),
}

/// The tokio runtime of an actor system was shut down before the system had ended: its actors were dropped without hooks.
/// What [`ActorSystem::when_terminated`] fails with then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the runtime of the actor system `{system}` was shut down before the system had ended")]
pub struct RuntimeGone {
    /// The system's name.
    pub system: String,
}

impl ActorSystemBuilder {
    /// How `/user` supervises the top-level actors. By default: one-for-one with the default table.
    #[must_use]
    pub fn guardian(
        mut self,
        strategy: Strategy,
        decide: impl Fn(&Failure, &ChildInfo) -> Result<Directive, Failure> + Send + 'static,
    ) -> Self {
        self.guardian = Some((strategy, Box::new(decide)));
        self
    }

    /// How many events a slow subscriber may be behind before it misses some. 4096 by default.
    #[must_use]
    pub fn event_capacity(mut self, events: usize) -> Self {
        self.event_capacity = events;
        self
    }

    /// How the system shuts down in phases. By default: the predefined ones, run by
    /// [`ActorSystem::terminate`].
    #[must_use]
    pub fn coordinated_shutdown(mut self, settings: ShutdownSettings) -> Self {
        self.shutdown = settings;
        self
    }

    /// Starts the system on the ambient tokio runtime.
    ///
    /// # Errors
    ///
    /// If the name is none, the settings of the coordinated shutdown make no sense, or there is no runtime or it has no timers.
    pub fn start(self) -> Result<ActorSystem, StartError> {
        check_system_name(&self.name).map_err(StartError::InvalidName)?;
        let shutdown = ShutdownState::new(self.shutdown).map_err(StartError::InvalidShutdown)?;
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        // tokio tells by a panic only.
        contained(|| drop(tokio::time::sleep(Duration::ZERO))).map_err(|_| StartError::NoTimers)?;
        let end = watch::Sender::new(None);
        let core = Arc::new(SystemCore {
            name: self.name,
            dispatcher: Dispatcher::new(&runtime),
            runtime,
            began: Instant::now(),
            events: EventStream::new(self.event_capacity, end.clone()),
            guardians: OnceLock::new(),
            end,
            failure: OnceLock::new(),
            shutdown,
            termination: Termination::new(),
            dead_letters: Mutex::default(),
            #[cfg(feature = "testkit")]
            activity: crate::testkit::Activity::default(),
        });
        let root = Arc::new(Cell {
            core: Core::new(
                "".into(),
                ChildId::ROOT,
                None,
                Arc::clone(&core),
                Kind::of::<Guardian>().supervising(Some((Strategy::one_for_one(), STOP_ALL))),
                Protocol::new(0),
            ),
            mailbox: Mailbox::new(crate::mailbox::MailboxKind::Unbounded),
        });
        let above = AnyActorRef(Arc::clone(&root) as _);
        let mut user = Props::new(|| Guardian::User);
        if let Some((strategy, decide)) = self.guardian {
            user = user.supervision(strategy, decide);
        }
        let user = guardian(&above, "user", user);
        let watched = user.to_any();
        let system = guardian(&above, "system", Props::new(move || Guardian::System { user: watched.clone() }));
        let watched = system.to_any();
        let ends = Arc::downgrade(&core);
        let props = Props::new(move || Guardian::Root { system: watched.clone() }).supervision(
            Strategy::one_for_one(),
            move |failure, _| {
                // Rule 9.1: the first guardian that fails ends the system.
                if let Some(system) = ends.upgrade() {
                    let _first = system.failure.set(failure.clone());
                }
                Ok(stopping_decider(failure))
            },
        );
        let guardians = Guardians {
            root: Arc::downgrade(&(Arc::clone(&root) as Arc<dyn AnyCell>)),
            user: Arc::downgrade(&user.to_any().0),
            system: Arc::downgrade(&system.to_any().0),
        };
        // Set once, a few lines after the core was made.
        let _first = core.guardians.set(guardians);
        Cell::begin(&root, props);
        Dispatcher::start(&core);
        Ok(ActorSystem { core })
    }
}

/// What the root's [`stopping_decider`] decides.
const STOP_ALL: DeciderTable = DeciderTable::Rules(&[Rule::new("_", Directive::Stop)]);

/// A guardian under the root. Its name is valid and free, and the root is not stopping.
fn guardian(root: &AnyActorRef, name: &str, props: Props<Guardian>) -> ActorRef<Guardian> {
    match Cell::spawn_under(root, NewName::Given(name), props) {
        Ok(guardian) => guardian,
        Err(error) => unreachable!("a new root has no children: {error}"),
    }
}

impl fmt::Debug for ActorSystemBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActorSystemBuilder")
            .field("name", &self.name)
            .field("strategy", &self.guardian.as_ref().map_or(Strategy::one_for_one(), |(strategy, _)| *strategy))
            .field("event_capacity", &self.event_capacity)
            .field("shutdown", &self.shutdown)
            .finish_non_exhaustive()
    }
}

impl SystemCore {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub(crate) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    pub(crate) fn events(&self) -> &EventStream {
        &self.events
    }

    /// Held for a line.
    pub(crate) fn dead_letters(&self) -> MutexGuard<'_, LineCount> {
        self.dead_letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the top-level actors end, or have ended.
    pub(crate) fn is_ending(&self) -> bool {
        let user = self.guardians.get().and_then(|guardians| guardians.user.upgrade());
        user.is_none_or(|user| user.core().protocol().is_stopping())
    }

    pub(crate) fn shutdown(&self) -> &ShutdownState {
        &self.shutdown
    }

    pub(crate) fn termination(&self) -> &Termination {
        &self.termination
    }

    /// The time since the system began.
    pub(crate) fn now(&self) -> Time {
        self.began.elapsed()
    }

    #[cfg(feature = "testkit")]
    pub(crate) fn activity(&self) -> &crate::testkit::Activity {
        &self.activity
    }

    /// All actors that have not ended, parents first.
    pub(crate) fn all_cells(&self) -> Vec<AnyActorRef> {
        let root = self.guardians.get().and_then(|guardians| guardians.root.upgrade());
        let mut cells: Vec<AnyActorRef> = root.into_iter().map(AnyActorRef).collect();
        let mut next = 0;
        while let Some(cell) = cells.get(next).cloned() {
            cells.extend(cell.core().protocol().children().map(|(_, child)| child.clone()));
            next += 1;
        }
        cells
    }

    /// The guardian of guardians.
    pub(crate) fn root(self: &Arc<Self>) -> AnyActorRef {
        self.guardian("", |guardians| &guardians.root)
    }

    /// A guardian; one that has ended and is known to nobody else is a ref to nobody.
    fn guardian(self: &Arc<Self>, name: &str, which: fn(&Guardians) -> &Weak<dyn AnyCell>) -> AnyActorRef {
        let Some(guardians) = self.guardians.get() else {
            unreachable!("set before the first handle is given out");
        };
        match which(guardians).upgrade() {
            Some(guardian) => AnyActorRef(guardian),
            None => Cell::nobody::<Guardian>(self, name).to_any(),
        }
    }

    /// The root guardian has no parent to decide: the system ends, and says why.
    ///
    /// Rule 9.3.
    pub(crate) fn root_failed(&self, root: &AnyActorRef, failure: Failure) {
        observe::root_failed(&failure);
        let _first = self.failure.set(failure);
        root.send_system(System::Terminate);
    }

    /// The last actor has ended. What is registered for this moment runs, then the system has ended.
    pub(crate) fn root_ended(self: &Arc<Self>) {
        self.shutdown.system_ended();
        self.dispatcher.end();
        let end = AnnounceOnDrop(Arc::clone(self));
        let callbacks = self.termination.root_ended();
        if !callbacks.is_empty() {
            dispatch::start(self, async move {
                callbacks.run().await;
                drop(end);
            });
        }
    }

    /// The runtime has gone away under the system. Its actors have been dropped; nobody is to wait for what will not happen.
    ///
    /// Rule 6.6.
    pub(crate) fn runtime_gone(&self) {
        if self.termination.has_root_ended() {
            return;
        }
        let _first = self.failure.set(Failure::new(RuntimeGone { system: self.name.clone() }));
        self.shutdown.system_ended();
        drop_quietly(self.termination.root_ended());
        self.announce_end();
    }

    fn announce_end(&self) {
        observe::dead_letters_end(self);
        let how = self.failure.get().cloned().map_or(Ok(()), Err);
        self.end.send_replace(Some(how));
    }
}

/// The end comes when the callbacks have run, and also where the runtime goes away while they do.
struct AnnounceOnDrop(Arc<SystemCore>);

impl Drop for AnnounceOnDrop {
    fn drop(&mut self) {
        self.0.announce_end();
    }
}
