//! The settings and the start of a system.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{ActorSystem, Guardians, SystemCore};
use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::cell::{AnyCell, Cell, Core, NewName};
use crate::actor::description::ActorDescription;
use crate::actor::dispatch::Dispatcher;
use crate::actor::extensions::Extensions;
use crate::actor::guardian::Guardian;
use crate::actor::props::Props;
#[cfg(feature = "durable")]
use crate::actor::stored;
use crate::actor::table::{StoppingTable, SupervisionTable, TotalTable};
use crate::base::{InvalidName, check_system_name, contained};
use crate::failure::{Failure, debug_in_one_line};
use crate::mailbox::{Mailbox, MailboxKind};
use crate::observe::Observer;
use crate::shutdown_plan::{InvalidShutdown, ShutdownSettings, ShutdownState, Termination};
use crate::supervision::{ChildId, ChildInfo, Directive, Protocol, Strategy};

/// The settings of a system that is yet to start.
pub struct ActorSystemBuilder {
    name: String,
    guardian: Option<Props<Guardian>>,
    event_capacity: usize,
    ask_timeout: Option<Duration>,
    shutdown: ShutdownSettings,
    #[cfg(feature = "durable")]
    store: Option<Box<dyn crate::durable::MessageStore>>,
}

/// Why a system could not start.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The name is invalid.
    #[error("cannot start an actor system: {0}")]
    InvalidName(InvalidName),
    /// The call is outside a tokio runtime.
    #[error(
        "cannot start an actor system: there is no tokio runtime here; start it within `#[tokio::main]`, \
         `#[tokio::test]` or `Runtime::block_on`"
    )]
    NoRuntime,
    /// The runtime has no timers, so no delay, timeout or backoff would ever end.
    #[error(
        "cannot start an actor system: this tokio runtime has no timers; build it with `enable_time()` or `enable_all()`"
    )]
    NoTimers,
    /// The settings of the coordinated shutdown are invalid.
    #[error("cannot start an actor system: {0}")]
    InvalidShutdown(InvalidShutdown),
}

debug_in_one_line!(StartError);

impl ActorSystemBuilder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            guardian: None,
            event_capacity: 4096,
            ask_timeout: None,
            shutdown: ShutdownSettings::new(),
            #[cfg(feature = "durable")]
            store: None,
        }
    }

    /// Sets the table by which `/user` supervises the top-level actors. It must decide every failure, by an
    /// `on(_)`. The default is [`DefaultTable`](crate::DefaultTable).
    ///
    /// The top-level actors are spawned at run time, so the compiler does not see which failures reach `/user`. It
    /// checks that the table decides each of them. A failure that the table escalates ends the system
    /// (rule [9.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-9.1)).
    #[must_use]
    pub fn supervised_by<T: TotalTable>(mut self) -> Self {
        self.guardian = Some(Props::new(user_guardian).supervised_by::<T>().marked());
        self
    }

    /// Sets a strategy and a decider, chosen at run time, by which `/user` supervises the top-level actors.
    ///
    /// If the choice is known at compile time, use [`supervised_by`](Self::supervised_by), which the compiler checks.
    #[must_use]
    pub fn guardian_unchecked(
        mut self,
        strategy: Strategy,
        decide: impl Fn(&Failure, &ChildInfo) -> Result<Directive, Failure> + Send + 'static,
    ) -> Self {
        self.guardian = Some(Props::new(user_guardian).supervision_unchecked(strategy, decide).marked());
        self
    }

    /// Sets how many events a slow subscriber may be behind before it misses some. The default is 4096.
    #[must_use]
    pub fn event_capacity(mut self, events: usize) -> Self {
        self.event_capacity = events;
        self
    }

    #[cfg(feature = "testkit")]
    pub(crate) fn at_least_event_capacity(self, events: usize) -> Self {
        let events = self.event_capacity.max(events);
        self.event_capacity(events)
    }

    /// Sets how long asks of this system's actors wait for the reply, unless the actor or the asker sets a limit. By default,
    /// they wait without limit. Rule [19.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.6).
    #[must_use]
    pub fn ask_timeout(mut self, ask_timeout: Duration) -> Self {
        self.ask_timeout = Some(ask_timeout);
        self
    }

    /// Sets the phases in which the system shuts down. By default [`ActorSystem::terminate`] runs the predefined
    /// phases.
    #[must_use]
    pub fn coordinated_shutdown(mut self, settings: ShutdownSettings) -> Self {
        self.shutdown = settings;
        self
    }

    /// Sets the store in which durable mailboxes keep their messages. The system opens it in the background; see
    /// [`Store::ready`](crate::durable::Store::ready).
    /// Rule [27.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.1).
    #[cfg(feature = "durable")]
    #[must_use]
    pub fn store(mut self, store: impl crate::durable::MessageStore) -> Self {
        self.store = Some(Box::new(store));
        self
    }

    /// Sets the store, unless there is one.
    #[cfg(all(feature = "durable", feature = "testkit"))]
    pub(crate) fn store_by_default(mut self, store: impl crate::durable::MessageStore) -> Self {
        self.store.get_or_insert_with(|| Box::new(store));
        self
    }

    /// Starts the system on the ambient tokio runtime.
    ///
    /// # Errors
    ///
    /// If the name or the settings of the coordinated shutdown are invalid, outside a tokio runtime, or in a runtime
    /// without timers.
    pub fn start(self) -> Result<ActorSystem, StartError> {
        check_system_name(&self.name).map_err(StartError::InvalidName)?;
        let shutdown = ShutdownState::new(self.shutdown).map_err(StartError::InvalidShutdown)?;
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        // tokio reports missing timers only by a panic.
        contained(|| drop(tokio::time::sleep(Duration::ZERO))).map_err(|_| StartError::NoTimers)?;
        let end = watch::Sender::new(None);
        let core = Arc::new(SystemCore {
            name: self.name,
            dispatcher: Dispatcher::new(&runtime),
            runtime,
            began: Instant::now(),
            observer: Observer::new(self.event_capacity, end.clone()),
            guardians: OnceLock::new(),
            end,
            failure: OnceLock::new(),
            shutdown,
            termination: Termination::new(),
            ask_timeout: self.ask_timeout,
            extensions: Extensions::default(),
            #[cfg(feature = "durable")]
            store: OnceLock::new(),
            #[cfg(feature = "testkit")]
            activity: crate::actor::activity::Activity::default(),
            #[cfg(all(feature = "durable", feature = "testkit"))]
            tasks: std::sync::Mutex::default(),
        });
        let root = Arc::new(Cell {
            core: Core::new(
                "".into(),
                ChildId::ROOT,
                None,
                Arc::clone(&core),
                ActorDescription::of::<Guardian>()
                    .supervising(Some((StoppingTable::STRATEGY, StoppingTable::TABLE))),
                Protocol::new(0),
            ),
            mailbox: Mailbox::new(MailboxKind::Unbounded),
        });
        let above = AnyActorRef(Arc::clone(&root) as _);
        let user = self.guardian.unwrap_or_else(|| Props::new(user_guardian));
        let user = guardian(&above, "user", user);
        let watched = user.to_any();
        let system = guardian(&above, "system", Props::new(move || Guardian::System { user: watched.clone() }));
        let watched = system.to_any();
        let ends = Arc::downgrade(&core);
        let decide = move |failure: &Failure, child: &ChildInfo| {
            // Rule 9.1: the first guardian that fails ends the system.
            if let Some(system) = ends.upgrade() {
                let _first = system.failure.set(failure.clone());
            }
            Ok((StoppingTable::rule(failure, child)?, StoppingTable::STRATEGY))
        };
        let props = Props::new(move || Guardian::Root { system: watched.clone() })
            .with_policy::<StoppingTable>(StoppingTable::STRATEGY, StoppingTable::TABLE, decide)
            .marked();
        let guardians = Guardians {
            root: Arc::downgrade(&(Arc::clone(&root) as Arc<dyn AnyCell>)),
            user: Arc::downgrade(&user.to_any().0),
            system: Arc::downgrade(&system.to_any().0),
        };
        // Set once, a few lines after the core was made.
        let _first = core.guardians.set(guardians);
        #[cfg(feature = "durable")]
        if let Some(store) = self.store {
            let _first = core.store.set(stored::start(&core, store));
        }
        Cell::begin(&root, props);
        Dispatcher::start(&core);
        Ok(ActorSystem { core })
    }
}

fn user_guardian() -> Guardian {
    Guardian::User
}

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
            .field("guardian", &self.guardian)
            .field("event_capacity", &self.event_capacity)
            .field("shutdown", &self.shutdown)
            .finish_non_exhaustive()
    }
}
