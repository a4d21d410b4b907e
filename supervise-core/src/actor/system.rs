//! An actor system: the guardians of its tree, its events and its end. Nothing here is global, and systems are
//! independent.
//!
//! ```text
//!   /            stops any guardian that fails; ends when /system has ended
//!   ├── user     your actors; ends on `terminate()`
//!   └── system   the runtime's own; ends when /user has ended
//! ```

mod builder;

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

pub use self::builder::{ActorSystemBuilder, StartError};
use crate::actor::actor_ref::{AnyActorRef, TypedRef};
use crate::actor::cell::{AnyCell, Cell, Core, NewName, SpawnError, System};
use crate::actor::definition::{Actor, Built, RefOf};
use crate::actor::dispatch;
use crate::actor::dispatch::Dispatcher;
use crate::actor::end_reason::EndReason;
use crate::actor::envelope::{Envelope, Enveloped, MessageOf};
use crate::actor::extensions::Extensions;
use crate::actor::factory::Factory;
use crate::actor::guardian::Guardian;
use crate::actor::props::{GivesProps, Props};
use crate::actor::waits_for::whose_turn;
use crate::base::{ActorPath, drop_contained};
use crate::failure::Failure;
use crate::observe;
use crate::observe::{End, EventStream, Lost, LostMessages, Observer, Split, Tally};
use crate::shutdown_plan::{ShutdownState, Termination};
use crate::supervision::Time;

/// A handle to an actor system. It is cheap to clone, and dropping it does not stop the system.
#[derive(Clone)]
pub struct ActorSystem {
    core: Arc<SystemCore>,
}

/// What all cells of a system share.
pub(crate) struct SystemCore {
    name: String,
    runtime: Handle,
    dispatcher: Dispatcher,
    began: Instant,
    observer: Observer,
    guardians: OnceLock<Guardians>,
    end: watch::Sender<End>,
    /// The failure that ends the system, if one does.
    failure: OnceLock<Failure>,
    shutdown: ShutdownState,
    termination: Termination,
    ask_timeout: Option<Duration>,
    extensions: Extensions,
    #[cfg(feature = "durable")]
    store: OnceLock<Arc<crate::durable::Inbox>>,
    #[cfg(feature = "testkit")]
    activity: super::activity::Activity,
    /// Tasks to abort when a test simulates the death of the process.
    #[cfg(all(feature = "durable", feature = "testkit"))]
    tasks: std::sync::Mutex<Vec<tokio::task::AbortHandle>>,
}

/// The guardians hold the system, so the system holds them weakly: a guardian lives as long as it runs or a ref to it
/// exists.
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
    /// Outside a tokio runtime, in a runtime without timers, or if the name is invalid: a name consists of letters,
    /// digits and, after the first character, `-` and `_`. [`ActorSystemBuilder::start`] returns an error instead.
    pub fn new(name: impl AsRef<str>) -> Self {
        match Self::builder(name).start() {
            Ok(system) => system,
            Err(error) => panic!("{error}"),
        }
    }

    /// A builder for a system with other settings than the default ones.
    pub fn builder(name: impl AsRef<str>) -> ActorSystemBuilder {
        ActorSystemBuilder::new(name.as_ref().to_owned())
    }

    #[cfg(feature = "testkit")]
    pub(crate) fn activity(&self) -> &super::activity::Activity {
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

    /// Spawns a top-level actor, a child of `/user`. The ref can be used at once. The factory runs on the actor's own
    /// turn, and again at each restart.
    ///
    /// # Errors
    ///
    /// If the name is invalid or taken, or the system is terminating.
    pub fn spawn<B, F>(&self, name: impl AsRef<str>, factory: F) -> Result<RefOf<B::Actor>, SpawnError>
    where
        F: Factory<Product = B> + Send + 'static, // `|| Worker::new()`; `ctx` comes in `#[pre_start] fn begin(&mut self, ctx: ..)`
        B: Built,
    {
        self.spawn_with(name, Props::new(factory))
    }

    /// Like [`spawn`](Self::spawn), under a name that the system makes up: `$a`, `$b`, …
    ///
    /// # Errors
    ///
    /// If the system is terminating.
    pub fn spawn_anonymous<B, F>(&self, factory: F) -> Result<RefOf<B::Actor>, SpawnError>
    where
        F: Factory<Product = B> + Send + 'static, // `|| Worker::new()`; `ctx` comes in `#[pre_start] fn begin(&mut self, ctx: ..)`
        B: Built,
    {
        Cell::spawn_under(&self.user_guardian(), NewName::MadeUp, Props::new(factory).marked()).map(Into::into)
    }

    /// Like [`spawn`](Self::spawn), with [`Props`]: a factory and settings.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_with<A: Actor, C, T>(
        &self,
        name: impl AsRef<str>,
        props: impl GivesProps<Actor = A, Cause = C, Table = T>,
    ) -> Result<RefOf<A>, SpawnError> {
        let props = props.props().marked();
        Cell::spawn_under(&self.user_guardian(), NewName::Given(name.as_ref()), props).map(Into::into)
    }

    /// Spawns an internal actor of the runtime, a child of `/system`.
    pub(crate) fn spawn_system<A: Actor>(&self, props: Props<A>) -> Result<RefOf<A>, SpawnError> {
        Cell::spawn_under(&self.system_guardian(), NewName::MadeUp, props).map(Into::into)
    }

    /// Requests the stop of one actor: it finishes its current message, then stops its children, then itself. To stop the whole
    /// system, and wait until it has ended, use [`terminate`](Self::terminate).
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

    /// The time since the system began. [`Glimpse::due`](crate::Glimpse::due) and [`Standing::anew_at`](crate::Standing::anew_at) are
    /// such times.
    pub fn uptime(&self) -> Duration {
        self.core.now()
    }

    /// The tokio runtime that runs the actors.
    pub fn runtime(&self) -> &Handle {
        self.core.runtime()
    }

    /// The store of this system's durable mailboxes: its queues and its quarantine.
    #[cfg(feature = "durable")]
    pub fn store(&self) -> crate::durable::Store {
        crate::durable::Store::of(self.core.store().cloned())
    }

    /// The stream of this system's events.
    pub fn events(&self) -> &EventStream {
        self.core.observer.events()
    }

    /// Keeps the messages to actors `A` that become dead letters from now on, at most `capacity` at a time;
    /// further ones are dropped and [counted](LostMessages::missed). Askers still get their errors. Messages that
    /// go back to their sender are not kept, nor are the stored ones of a durable mailbox, which its quarantine
    /// keeps. A second call for the same type takes over: only its receiver gets messages from then on.
    /// Rule [10.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.10).
    ///
    /// # Panics
    ///
    /// If `capacity` is 0.
    #[track_caller]
    pub fn lost_messages<A: Actor<Message: Enveloped>>(&self, capacity: usize) -> LostMessages<MessageOf<A>> {
        assert!(capacity > 0, "without room, no lost message could be kept");
        self.core.observer.keep_lost::<Envelope<MessageOf<A>>, MessageOf<A>>(capacity, |sent| {
            match sent.downcast::<Envelope<MessageOf<A>>>() {
                Ok(envelope) => {
                    let (message, rest) = envelope.into_parts();
                    Split { message: Box::new(message), rest: Box::new(rest) }
                }
                Err(sent) => Split { message: sent, rest: Box::new(()) },
            }
        })
    }

    /// From now on, each message that an actor of this system handles has a span of this level.
    /// Rule [25.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-25.1).
    #[cfg(feature = "spans")]
    #[doc(hidden)]
    pub fn start_spans(&self, level: tracing::Level, asks_as_children: bool) {
        self.core.observer.start_spans(level, asks_as_children);
    }

    /// From now on, one in `one_in` messages is timed at each actor that is spawned or [told](crate::Glimpse::time_next) to. If this is
    /// called again, the last number counts. Rule
    /// [24.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-24.6).
    #[cfg(feature = "timing")]
    #[doc(hidden)]
    pub fn begin_timing(&self, one_in: u32) {
        self.core.observer.begin_timing(one_in);
    }

    /// Undoes one [`begin_timing`](Self::begin_timing). When all are undone, no message is timed.
    #[cfg(feature = "timing")]
    #[doc(hidden)]
    pub fn end_timing(&self) {
        self.core.observer.end_timing();
    }

    /// How long messages waited and were handled, by type and handler, since messages were first timed.
    #[cfg(feature = "timing")]
    #[doc(hidden)]
    pub fn message_times(&self) -> Vec<crate::observe::Times> {
        self.core.observer.times()
    }

    /// Counts what happens to the actors of each type, as long as the tally lives. Each spawn costs no more than
    /// that count in addition. Rule
    /// [24.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-24.2).
    pub fn tally(&self) -> Tally {
        self.core.observer.tally()
    }

    /// Whether the system has ended.
    pub fn has_terminated(&self) -> bool {
        self.core.end.borrow().is_some()
    }

    /// Waits until the system has ended. If `main` returns this result and a failure ended the system, the process prints the
    /// failure and exits with an error code:
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
    /// The failure that ended the system (rule
    /// [9.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-9.1)): what `/user`
    /// escalated, or what another guardian failed with. If the runtime was shut down first, the failure is
    /// [`RuntimeGone`]. In these cases the tasks of the coordinated shutdown do not run.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
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

/// The tokio runtime of an actor system was shut down before the system had ended, so its actors were dropped and no
/// hooks ran. [`ActorSystem::when_terminated`] fails with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the runtime of the actor system `{system}` was shut down before the system had ended")]
pub struct RuntimeGone {
    /// The system's name.
    pub system: String,
}

impl SystemCore {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How long an ask waits, unless the actor or the asker sets a limit.
    pub(crate) fn ask_timeout(&self) -> Option<Duration> {
        self.ask_timeout
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub(crate) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    pub(crate) fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Reports a dead letter.
    pub(crate) fn dead_letter(&self, recipient: impl Fn() -> (ActorPath, Option<&'static str>), lost: Lost) {
        let sender = || whose_turn().map(|sender| sender.path());
        self.observer.dead_letter(recipient, sender, lost, || (!self.is_ending()).then(|| self.now()));
    }

    /// Whether the top-level actors are stopping or have ended.
    fn is_ending(&self) -> bool {
        let user = self.guardians.get().and_then(|guardians| guardians.user.upgrade());
        user.is_none_or(|user| user.core().protocol().is_stopping())
    }

    pub(crate) fn shutdown(&self) -> &ShutdownState {
        &self.shutdown
    }

    pub(crate) fn termination(&self) -> &Termination {
        &self.termination
    }

    pub(crate) fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// The inbox of the store's writer.
    #[cfg(feature = "durable")]
    pub(crate) fn store(&self) -> Option<&Arc<crate::durable::Inbox>> {
        self.store.get()
    }

    /// The time since the system began.
    pub(crate) fn now(&self) -> Time {
        self.began.elapsed()
    }

    #[cfg(feature = "testkit")]
    pub(crate) fn activity(&self) -> &super::activity::Activity {
        &self.activity
    }

    /// Adds a task to those that [`crash`](Self::crash) aborts.
    #[cfg(all(feature = "durable", feature = "testkit"))]
    pub(crate) fn dies(&self, task: tokio::task::AbortHandle) {
        self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(task);
    }

    /// Simulates the death of the process: nothing of this system runs any more.
    #[cfg(all(feature = "durable", feature = "testkit"))]
    pub(crate) fn crash(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        tasks.iter().for_each(tokio::task::AbortHandle::abort);
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

    /// The root guardian.
    pub(crate) fn root(self: &Arc<Self>) -> AnyActorRef {
        self.guardian("", |guardians| &guardians.root)
    }

    /// A guardian. If it has ended and no other ref to it exists, this is a ref to an actor that has already stopped.
    fn guardian(self: &Arc<Self>, name: &str, which: fn(&Guardians) -> &Weak<dyn AnyCell>) -> AnyActorRef {
        let Some(guardians) = self.guardians.get() else {
            unreachable!("set before the first handle is given out");
        };
        match which(guardians).upgrade() {
            Some(guardian) => AnyActorRef(guardian),
            None => Cell::nobody::<Guardian>(self, name).to_any(),
        }
    }

    /// The root guardian has no parent that could decide about its failure, so the system ends with this failure.
    ///
    /// Rule 9.3.
    pub(crate) fn root_failed(&self, root: &AnyActorRef, failure: Failure) {
        observe::root_failed(&failure);
        root.core().ends_because(EndReason::Failed(failure.clone()));
        let _first = self.failure.set(failure);
        root.send_system(System::Terminate);
    }

    /// The last actor has ended: runs the termination callbacks, then the system has ended.
    pub(crate) fn root_ended(self: &Arc<Self>) {
        self.shutdown.system_ended();
        self.dispatcher.end();
        let end = AnnounceOnDrop(Arc::clone(self));
        let callbacks = self.termination.root_ended();
        #[cfg(feature = "durable")]
        if let Some(store) = self.store.get().cloned() {
            // Rule 27.16.
            dispatch::start(self, async move {
                crate::durable::close(&store).await;
                callbacks.run().await;
                drop(end);
            });
            return;
        }
        if !callbacks.is_empty() {
            dispatch::start(self, async move {
                callbacks.run().await;
                drop(end);
            });
        }
    }

    /// The runtime was shut down before the system ended, and the actors have been dropped. Completes everything that
    /// still waits.
    ///
    /// Rule 6.6.
    pub(crate) fn runtime_gone(&self) {
        if self.termination.has_root_ended() {
            return;
        }
        let _first = self.failure.set(Failure::new(RuntimeGone { system: self.name.clone() }));
        self.shutdown.system_ended();
        drop_contained(self.termination.root_ended());
        self.announce_end();
    }

    fn announce_end(&self) {
        self.observer.end();
        // They may hold refs to actors, which hold the system.
        drop(self.extensions.take());
        let how = self.failure.get().cloned().map_or(Ok(()), Err);
        self.end.send_replace(Some(how));
    }
}

/// Announces the end of the system after the callbacks have run, even if the runtime goes away while they run.
struct AnnounceOnDrop(Arc<SystemCore>);

impl Drop for AnnounceOnDrop {
    fn drop(&mut self) {
        self.0.announce_end();
    }
}

#[cfg(test)]
mod tests {
    use allocation_counter::measure;

    use super::*;

    /// The room for what a subscriber may be behind is made for the first one.
    #[tokio::test]
    async fn a_system_that_nobody_listens_to_holds_no_events() {
        let mut system = None;
        let held = measure(|| system = Some(ActorSystem::new("quiet"))).bytes_current;
        assert!(held < 64 * 1024, "an empty system holds {held} bytes");
        let mut events = None;
        let held = measure(|| events = system.as_ref().map(|system| system.events().subscribe())).bytes_current;
        assert!(held > 4096 * 16, "a subscriber may be 4096 events behind, in {held} bytes");
        // A later subscriber uses the same buffer.
        let held = measure(|| drop(system.as_ref().map(|system| system.events().subscribe()))).bytes_current;
        assert_eq!(held, 0);
    }
}
