//! The context of a handler or hook: the actor itself, its children, its timers, and the actors that it watches.

mod watches;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

pub use self::watches::AlreadyWatched;
use self::watches::{WatchMessage, inherit};
use crate::actor::actor_ref::{ActorRef, AnyActorRef, TypedRef};
use crate::actor::actor_timers::{ActorTimers, TimerKey};
use crate::actor::cell::{Cell, NewName, SpawnError, System};
use crate::actor::configuration::Configuration;
use crate::actor::control::Control;
use crate::actor::definition::{Actor, Built, RefOf};
use crate::actor::envelope::MessageFor;
use crate::actor::factory::Factory;
use crate::actor::parent_check::{
    DecidedBy, EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy, NeverRestarts, SupervisedBy,
};
use crate::actor::props::{GivesProps, Props};
use crate::actor::reply::{BatchSlot, ErasedSlot};
use crate::actor::reported_at::ReportedAt;
use crate::actor::request::AskError;
use crate::actor::system::ActorSystem;
use crate::actor::waits_for;
use crate::actor::work::{WorkId, Works};
use crate::base::ActorPath;
use crate::failure::Failure;
use crate::supervision::Protocol;

/// Gives a handler or hook access to its own actor: its ref, its parent, its children, its timers and its watches.
///
/// If rustc says "expected a type, found a trait" (E0782) at `Context<Self>`, another `Context` has been imported by name, such as that of
/// `anyhow`. Import that trait without its name, `use anyhow::Context as _;`, and its method `context` still works.
pub struct Context<A: Actor> {
    cell: Arc<Cell<A::Message>>,
    /// The asker of the message that is being handled.
    held: Option<Arc<dyn ErasedSlot>>,
    /// What few actors have. It is allocated when first needed, so that other actors do not pay for it.
    rare: Option<Box<Rare<A>>>,
    aborted: bool,
    /// Allocated with the first timer.
    timers: Option<Box<ActorTimers>>,
}

/// See [`Context::rare`].
struct Rare<A: Actor> {
    /// What comes instead of `Terminated`.
    watch_messages: HashMap<AnyActorRef, WatchMessage>,
    works: Works<A>,
    /// What the table of this instance takes from its settings.
    configuration: Option<Arc<Configuration>>,
    /// The delivery of the stored message that is being handled.
    #[cfg(feature = "durable")]
    delivery: Option<crate::durable::Delivery>,
    /// The slot that the handler has taken, if its asker waits for the next delivery of a message that fails.
    lent: Option<Weak<dyn ErasedSlot>>,
}

impl<A: Actor> Context<A> {
    pub(crate) fn new(cell: Arc<Cell<A::Message>>) -> Self {
        Self { cell, held: None, rare: None, aborted: false, timers: None }
    }

    /// Says which handler or hook runs from now on: see [`During`](crate::During).
    #[inline]
    pub(crate) fn enter(&self, code: u16) {
        self.cell.mailbox.enter_code(code);
    }

    // ---- itself --------------------------------------------------------------------------------------------------

    /// This actor's own ref. It stays valid across restarts.
    pub fn me(&self) -> A::Ref {
        ActorRef::<A>::new(Arc::clone(&self.cell)).into()
    }

    /// This actor's path.
    pub fn path(&self) -> ActorPath {
        self.cell.core.path()
    }

    /// The system this actor lives in.
    pub fn system(&self) -> ActorSystem {
        ActorSystem::of(&self.cell.core)
    }

    /// This actor's supervisor. Only the root guardian has no parent.
    pub fn parent(&self) -> Option<&AnyActorRef> {
        self.cell.core.parent.as_ref()
    }

    /// The delivery of the message that is being handled, if the mailbox is durable and the message is stored.
    /// `None` for messages of transient handlers, timers and receive timeouts. In a handler with `batch`, it is
    /// the delivery of the last message. Rule
    /// [27.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.6).
    #[cfg(feature = "durable")]
    pub fn delivery(&self) -> Option<crate::durable::Delivery> {
        self.rare.as_ref()?.delivery
    }

    #[cfg(feature = "durable")]
    pub(crate) fn set_delivery(&mut self, delivery: Option<crate::durable::Delivery>) {
        if delivery.is_some() || self.rare.is_some() {
            self.rare().delivery = delivery;
        }
    }

    /// Resets the backoff that delays this actor's restarts. Meant for `reset_after = manual`.
    pub fn reset_backoff(&mut self) {
        if let Some(parent) = self.parent() {
            parent.send_system(System::ResetBackoff(self.cell.core.id));
        }
    }

    /// Requests the stop of this actor. It finishes its current message, then its children stop, then it stops. The
    /// actor thereby ends by itself: a permanent child is replaced, and the end of a significant child counts for
    /// `auto_shutdown` (rule [14.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.2),
    /// rule [14.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.5)).
    pub fn stop_self(&mut self) {
        self.cell.core.stops_itself();
        self.me_any().send_system(System::Terminate);
    }

    /// Stops this actor when it has handled the messages that wait. It refuses further messages, even its own: the sender is
    /// told at once. The actor thereby ends by itself, as with [`stop_self`](Self::stop_self)
    /// (rule [23.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.4)).
    pub fn stop_when_drained(&mut self) {
        self.me_any().drain_behind_everything(Control::StopSelf);
    }

    /// Ends this actor because it is not needed now, after it has handled the messages that were sent before. If it is
    /// one of [keyed children](crate::Children), later messages wait for its successor, in order (rule
    /// [18.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.3)). Any other actor
    /// stops as if it had [poisoned](ActorRef::poison) itself.
    pub fn passivate(&mut self) {
        // Only this cell closes its mailbox, so it is open.
        let _open = self.me_any().0.push_control(Control::Passivate);
    }

    /// Waits until this actor is asked to stop. A handler that waits for a long time should also wait for this: after
    /// the stop request it has the stop timeout to finish, then its future is dropped. A restart that waits for the
    /// handler does not complete this future
    /// (rule [6.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-6.1)).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<A> {
        let cell = Arc::clone(&self.cell);
        async move { cell.core.stop_requested().await }
    }

    /// In `pre_restart` and `post_stop`: whether a handler of this instance was dropped at an await point, so that its
    /// state may be half-updated
    /// (rule [6.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-6.1)).
    pub fn was_aborted(&self) -> bool {
        self.aborted
    }

    // ---- children ------------------------------------------------------------------------------------------------

    /// Spawns a child. The ref can be used at once. The factory runs on the child's own turn, and again at each restart. So
    /// it cannot move a captured value into the actor; clone the value inside the factory. For an actor that owns something
    /// that cannot be made again, such as a socket, use [`spawn_once`](Self::spawn_once) under a table that never restarts.
    ///
    /// If the child cannot start, this actor's table decides. Without a table, the child is tried again after growing delays, and its
    /// messages wait. To stop it instead, write `on(InitializationFailed) = Stop` in the table; asks to it then fail with
    /// [`AskError::StoppedByFailure`](crate::AskError::StoppedByFailure)
    /// (rule [3.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-3.3)).
    ///
    /// # Errors
    ///
    /// If the name is invalid or taken, or this actor is stopping. A failure of the factory is not such an error: it is
    /// a failure of the child.
    pub fn spawn<B, F>(&mut self, name: impl AsRef<str>, factory: F) -> Result<RefOf<B::Actor>, SpawnError>
    where
        F: Factory<Product = B> + Send + 'static, // `|| Worker::new()`; `ctx` comes in `#[pre_start] fn begin(&mut self, ctx: ..)`
        B: Built,
        ReportedAt<F, B::Actor>: SupervisedBy<A>,
        ReportedAt<F, B::Cause>: DecidedBy<A>,
    {
        self.spawn_named(NewName::Given(name.as_ref()), Props::new(factory))
    }

    /// Like [`spawn`](Self::spawn), under a name that the system makes up: `$a`, `$b`, …
    ///
    /// # Errors
    ///
    /// If this actor is stopping.
    pub fn spawn_anonymous<B, F>(&mut self, factory: F) -> Result<RefOf<B::Actor>, SpawnError>
    where
        F: Factory<Product = B> + Send + 'static, // `|| Worker::new()`; `ctx` comes in `#[pre_start] fn begin(&mut self, ctx: ..)`
        B: Built,
        ReportedAt<F, B::Actor>: SupervisedBy<A>,
        ReportedAt<F, B::Cause>: DecidedBy<A>,
    {
        self.spawn_named(NewName::MadeUp, Props::new(factory))
    }

    /// Like [`spawn`](Self::spawn), with [`Props`]: a factory and settings.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_with<P, C, E, T>(&mut self, name: impl AsRef<str>, props: P) -> Result<RefOf<C>, SpawnError>
    where
        P: GivesProps<Actor = C, Cause = E, Table = T>,
        C: Actor,
        ReportedAt<P, C>: HandlersOfOneImplBlockDecidedBy<A>,
        ReportedAt<P, T>: EscalationsDecidedBy<A>,
        ReportedAt<P, E>: DecidedBy<A>,
    {
        self.spawn_named(NewName::Given(name.as_ref()), props.props())
    }

    /// Spawns a child from an instance that cannot be built twice. This actor's table must never restart.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_once<C>(&mut self, name: impl AsRef<str>, instance: C) -> Result<RefOf<C>, SpawnError>
    where
        C: Actor + SupervisedBy<A>,
        A: NeverRestarts,
    {
        self.spawn_named(NewName::Given(name.as_ref()), Props::<C>::once(instance))
    }

    fn spawn_named<C: Actor, E, T>(
        &mut self,
        name: NewName<'_>,
        props: Props<C, E, T>,
    ) -> Result<RefOf<C>, SpawnError> {
        Cell::spawn_under(&self.me_any(), name, props.marked()).map(Into::into)
    }

    /// The child of this name. It may be stopping.
    pub fn child(&self, name: &str) -> Option<AnyActorRef> {
        self.cell.core.protocol().child_named(name).cloned()
    }

    /// All children in start order, including those that are stopping.
    pub fn children(&self) -> Vec<AnyActorRef> {
        self.cell.core.protocol().children().map(|(_, child)| child.clone()).collect()
    }

    /// Requests the stop of an actor. With its own ref, an actor stops itself, as [`stop_self`](Self::stop_self) does.
    pub fn stop<R: TypedRef>(&mut self, actor: &R) {
        if actor.actor_ref().uid() == self.cell.core.uid {
            self.stop_self();
        } else {
            actor.actor_ref().stop();
        }
    }

    /// Ends the delay after which a child would be restarted, and restarts it now. See [`ActorRef::retry_now`].
    pub fn retry_now<R: TypedRef>(&mut self, child: &R) {
        child.actor_ref().retry_now();
    }

    /// Unwatches all children and requests their stop, the last one first. `pre_restart` does this by default.
    pub fn stop_children(&mut self) {
        // Most actors that restart have no children.
        if self.cell.core.protocol().children().next().is_some() {
            self.me_any().command(Protocol::stop_children);
            // Rule 14.8.
            self.cell.core.wake_waiting();
        }
    }

    // ---- timers --------------------------------------------------------------------------------------------------

    /// Sends this actor a message after `delay`. It replaces a timer of the same key, whose message is then not
    /// delivered even if it is on its way. If a timer is due while a handler waits, its message comes after all
    /// messages that wait when the handler returns
    /// (rule [15.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-15.1)). A restart cancels all
    /// timers, and `Resume` keeps them.
    ///
    /// `message` is one of this actor's messages, as in `start_timer("retry", delay, FeedMessage::Retry)`, or a request to this
    /// actor.
    pub fn start_timer<By>(&mut self, key: impl Into<TimerKey>, delay: Duration, message: impl MessageFor<A, By>) {
        self.timers().start_once(key.into(), delay, message.into_message());
    }

    /// Sends this actor a message every `interval`, the first one after `interval`. An interval of less than
    /// one millisecond counts as one millisecond. Otherwise like [`start_timer`](Self::start_timer). `message`
    /// is called for each tick, on this actor's turn, as in `|| FeedMessage::Poll`. The next tick comes only
    /// when the last one has been handled. So an actor that is slower than its timer, or suspended, skips
    /// ticks.
    pub fn start_periodic_timer<F, M>(&mut self, key: impl Into<TimerKey>, interval: Duration, mut message: F)
    where
        F: FnMut() -> M + Send + 'static,
        ReportedAt<F, M>: MessageFor<A>,
    {
        self.timers().start_every(key.into(), interval, move || message().into_message());
    }

    /// Cancels a timer. Its message is not delivered, even if it is on its way.
    pub fn cancel_timer(&mut self, key: &str) {
        if let Some(timers) = &mut self.timers {
            timers.cancel(key);
        }
    }

    /// Whether a timer of this key is set: a timer whose message has not been delivered yet, or a periodic
    /// timer.
    pub fn is_timer_active(&self, key: &str) -> bool {
        self.timers.as_ref().is_some_and(|timers| timers.is_active(key))
    }

    /// Sends this actor a message whenever it has received no message for `after`. Messages of handlers with
    /// `#[handler(not_influencing)]` do not count. The timeout survives a restart, and its time then begins again.
    /// `after` is at least one millisecond: a shorter time counts as one.
    pub fn set_receive_timeout<M: MessageFor<A>>(
        &mut self,
        after: Duration,
        mut message: impl FnMut() -> M + Send + 'static,
    ) {
        self.timers().set_idle(after, move || message().into_message());
    }

    /// Cancels the receive timeout.
    pub fn cancel_receive_timeout(&mut self) {
        if let Some(timers) = &mut self.timers {
            timers.clear_idle();
        }
    }

    fn timers(&mut self) -> &mut ActorTimers {
        self.timers.get_or_insert_with(|| Box::new(ActorTimers::new()))
    }

    // ---- the runner's side ---------------------------------------------------------------------------------------

    pub(crate) fn me_any(&self) -> AnyActorRef {
        AnyActorRef(Arc::clone(&self.cell) as _)
    }

    pub(crate) fn hold(&mut self, reply: Option<Arc<dyn ErasedSlot>>) {
        if waits_for::KNOWN
            && let Some(slot) = &reply
        {
            slot.tie().handled_by(|| self.me_any());
        }
        self.held = reply;
    }

    /// Keeps the slots of messages that are handled at once.
    pub(crate) fn hold_batch(&mut self, slots: Vec<Option<Arc<dyn ErasedSlot>>>) {
        if waits_for::KNOWN {
            slots.iter().flatten().for_each(|slot| slot.tie().handled_by(|| self.me_any()));
        }
        self.held = slots.iter().any(Option::is_some).then(|| Arc::new(BatchSlot::new(slots)) as _);
    }

    pub(crate) fn take_held(&mut self) -> Option<Arc<dyn ErasedSlot>> {
        self.held.take()
    }

    /// Gives the handler its reply slot.
    pub(crate) fn lend_held(&mut self) -> Option<Arc<dyn ErasedSlot>> {
        let held = self.held.take()?;
        if held.waits_for_retry(false) {
            self.rare().lent = Some(Arc::downgrade(&held));
        }
        if waits_for::KNOWN {
            held.tie().leads_nowhere();
        }
        Some(held)
    }

    pub(crate) fn take_lent(&mut self) -> Option<Arc<dyn ErasedSlot>> {
        self.rare.as_mut()?.lent.take()?.upgrade()
    }

    /// Whether the end of a handler needs more work: an asker waits, or there are timers.
    pub(crate) fn has_news(&self) -> bool {
        self.held.is_some() || self.timers.is_some()
    }

    pub(crate) fn set_aborted(&mut self, aborted: bool) {
        self.aborted = aborted;
    }

    pub(crate) fn timers_mut(&mut self) -> Option<&mut ActorTimers> {
        self.timers.as_deref_mut()
    }

    fn rare(&mut self) -> &mut Rare<A> {
        self.rare.get_or_insert_with(|| {
            Box::new(Rare {
                watch_messages: HashMap::new(),
                works: Works::new(),
                configuration: None,
                #[cfg(feature = "durable")]
                delivery: None,
                lent: None,
            })
        })
    }

    pub(crate) fn works(&mut self) -> &mut Works<A> {
        &mut self.rare().works
    }

    pub(crate) fn works_so_far(&self) -> Option<&Works<A>> {
        self.rare.as_ref().map(|rare| &rare.works)
    }

    /// The cell has taken the control of an outcome: its message or failure, unless the work was cancelled.
    pub(crate) fn take_outcome(&mut self, work: WorkId) -> Option<Result<A::Message, Failure>> {
        let me = self.me();
        self.rare.as_mut()?.works.take(work, &me)
    }

    /// Runs before `pre_restart` and `post_stop`, and after them, because timers and work that such a hook starts have no instance
    /// to serve.
    ///
    /// Rules 4.7 and 17.1.
    pub(crate) fn cancel_timers_and_work(&mut self) {
        if let Some(timers) = &mut self.timers {
            timers.cancel_all();
        }
        if let Some(rare) = &mut self.rare
            && rare.works.cancel_all()
        {
            // If no instance comes to handle a message, nobody else would take them.
            self.cell.mailbox.forget_controls(|control| matches!(control, Control::Outcome(_)));
        }
    }

    pub(crate) fn set_configuration(&mut self, configuration: Arc<Configuration>) {
        self.rare().configuration = Some(configuration);
    }

    /// What the table of this instance takes from its settings, if it takes anything.
    pub(crate) fn configuration(&self) -> Option<&Arc<Configuration>> {
        self.rare.as_ref()?.configuration.as_ref()
    }

    /// Clears the state of the instance, and the messages of watches that ended with it.
    ///
    /// Rule 8.4.
    pub(crate) fn clear(&mut self) {
        self.cancel_timers_and_work();
        self.held = None;
        self.aborted = false;
        if let Some(rare) = &mut self.rare {
            inherit(&mut rare.watch_messages, &self.cell.core);
        }
    }
}

/// If the runtime goes away while a handler runs, its asker is told (rule 6.6).
impl<A: Actor> Drop for Context<A> {
    fn drop(&mut self) {
        if let Some(asker) = self.held.take() {
            asker.fail(AskError::Stopped);
        }
    }
}

impl<A: Actor> fmt::Debug for Context<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("actor", &format_args!("{}", self.cell.core)).finish_non_exhaustive()
    }
}
