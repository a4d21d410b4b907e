//! A supervisor that replaces its one child after a delay.
//!
//! ```text
//!              the child ended and may start again            the delay is over
//!   Running ──────────────────────────────────────► Waiting ────────────────────► Running (a new incarnation)
//!      │                                               │
//!      └── ended for good, or the limit is reached ────┴──► the supervisor stops itself
//! ```
//!
//! | how the child ended | on stop | on failure |
//! |---|---|---|
//! | by itself, or by a requested stop | delayed start | the supervisor stops |
//! | the decider says `Stop` | delayed start | the supervisor stops |
//! | the decider says `Restart` | (restarted in place, at once) | delayed start |
//!
//! 1. There is at most one child: the supervisor makes the next one after it has processed the end of the last one.
//! 2. `restart_count` grows when the supervisor has processed the end of a child. A quiet time or a reset by hand
//!    clears it.
//! 3. A decider does not see the instance. It notes in `Shared::failed` that the child is being stopped because of a
//!    failure.
//!
//! It deliberately does not keep messages for the next child. Its mailbox is always open. If it cannot pass a message
//! on, a handler of the user answers it, or it becomes a dead letter. A child that is restarted in place
//! ([`Directive::RestartAfter`]) keeps its mailbox.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::AbortHandle;

use super::pass_on::{lost_without_room, pass_on, to_dead_letters};
use super::stand_in::{BackoffSupervisorRef, StandInRef};
use super::template::{Blueprint, SharedFactory, Template};
use super::{BlueprintUnder, Decider, decider, gave_up, system_time};
use crate::actor::{
    Actor, ActorRef, AllHandlersStandInOneImplBlock, AskError, Context, DeciderTable, DecidesAll, DefaultTable,
    EndReason, EscalationsDecidedBy, FailsByItself, Failures, NeverFails, Props, RefOf, Ruled, SpawnError,
    StoppingTable, SupervisionTable, Supervisor, Terminated, TypedRef, Unchecked, Visit, drop_because,
};
use crate::base::UserValue;
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::observe::{self, DeadLetterReason, Delayed};
use crate::supervision::{
    Attempt, Backoff, BackoffCount, ChildInfo, Directive, Growth, Limit, Permit, Reset, RestartStatistics,
    Strategy, Time, default_decider,
};

/// Stands in for one child, and replaces it after a delay that grows each time.
///
/// Every life of the child is a new incarnation, with a new ref, an empty mailbox and no watchers, under the same name.
/// To keep the mailbox instead, use `Restart(backoff(..))` in the parent's table.
///
/// Its ref dereferences to the child's own; see the [module](crate::pattern) for an example. The [default
/// table](crate::DefaultTable) decides the child's failures, except that a child that cannot start is stopped; or [another
/// table](BackoffSupervisorProps::supervised_by) that the compiler checks.
pub struct BackoffSupervisor<C: Actor> {
    shared: Arc<Shared<C>>,
    child: Option<ActorRef<C>>,
    count: BackoffCount,
    /// How many of the ends in a row were failures. An end without a failure sets this to 0.
    failures: u32,
    /// Counts the ends of the child within the window, if there is one.
    ends: RestartStatistics,
    /// The child got the message after which the supervisor does not start it again.
    is_final: bool,
    /// The child handles what it was sent, and the supervisor stops with it.
    is_draining: bool,
    start: Option<StartLater>,
}

/// Which end of the child leads to a delayed start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trigger {
    Stop,
    Failure,
}

type Answer<M> = UserValue<Box<dyn Fn(M) + Send + Sync>>;
type Predicate<M> = UserValue<Box<dyn Fn(&M) -> bool + Send + Sync>>;

/// What the supervisor shares with its decider.
struct Shared<C: Actor> {
    name: String,
    template: Template<C>,
    trigger: Trigger,
    backoff: Backoff,
    limit: Limit,
    strategy: Strategy,
    table: DeciderTable,
    decide: Decider,
    while_stopped: Option<Answer<C::Message>>,
    final_stop: Option<Predicate<C::Message>>,
    /// The child is being stopped because it failed, and will be started again. Invariant 3.
    failed: AtomicBool,
    /// The child is being stopped because it could not start.
    did_not_start: AtomicBool,
}

impl<C: Actor> BackoffSupervisor<C> {
    /// Makes a supervisor that starts the child again after a delay whenever it *ends*.
    ///
    /// Failures are decided as usual. The default decider restarts a crashed child in place and at once, so only a stop
    /// of the child (its own stop, a failed start) leads to the delay. With
    /// [`stopping`](BackoffSupervisorProps::stopping), every failure does.
    ///
    /// `template` makes the child, for each life and each restart in place. `delays` says how long to wait, and whether
    /// the count starts again after a quiet time (by default, when a child has lived as long as the longest delay) or
    /// [by hand](ActorRef::reset).
    ///
    /// # Panics
    ///
    /// If the quiet time of `delays` is shorter than its shortest delay or longer than its longest.
    pub fn on_stop<B>(
        name: impl Into<String>,
        template: impl SharedFactory<Product = B> + Send + Sync + 'static,
        delays: Backoff,
    ) -> BackoffSupervisorProps<B>
    where
        B: Blueprint<Actor = C>,
    {
        if let (Growth::Exponential { min, max, .. }, Reset::After(quiet)) = (delays.growth, delays.reset) {
            assert!(
                min <= quiet && quiet <= max,
                "the quiet time of a backoff supervisor lies between its shortest and its longest delay"
            );
        }
        BackoffSupervisorProps::new(name.into(), Template::new(template), Trigger::Stop, delays)
    }

    /// Makes a supervisor that starts the child again after a delay whenever it *fails* and the decider says `Restart`.
    /// The supervisor stops the child first, and starts a new one when the child has ended and the delay is over.
    ///
    /// If the child ends for any other reason, the supervisor stops: after the child's own stop, or a `Stop` of the
    /// decider, which by default answers a failed start.
    ///
    /// `template` makes the child, once for each life. `delays` says how long to wait, and whether the count starts
    /// again after a quiet time (by default when a child lived as long as the longest delay) or
    /// [by hand](ActorRef::reset).
    pub fn on_failure<B>(
        name: impl Into<String>,
        template: impl SharedFactory<Product = B> + Send + Sync + 'static,
        delays: Backoff,
    ) -> BackoffSupervisorProps<B>
    where
        B: Blueprint<Actor = C>,
    {
        BackoffSupervisorProps::new(name.into(), Template::new(template), Trigger::Failure, delays)
    }
}

/// The settings of a [`BackoffSupervisor`]. `B` is what its template returns, `T` the table that says what the
/// supervisor escalates.
#[must_use = "settings do nothing until `props()` is spawned"]
pub struct BackoffSupervisorProps<B: Blueprint, T = DefaultTable> {
    shared: Shared<B::Actor>,
    types: PhantomData<fn() -> (B, T)>,
}

type MessageOf<B> = <<B as Blueprint>::Actor as Actor>::Message;

impl<B: Blueprint> BackoffSupervisorProps<B> {
    fn new(name: String, template: Template<B::Actor>, trigger: Trigger, backoff: Backoff) -> Self {
        let shared = Shared {
            name,
            template,
            trigger,
            backoff,
            limit: Limit::UNLIMITED,
            strategy: DefaultTable::STRATEGY,
            table: DefaultTable::TABLE,
            decide: decider(|failure, _| Ok((by_default(failure), None))),
            while_stopped: None,
            final_stop: None,
            failed: AtomicBool::new(false),
            did_not_start: AtomicBool::new(false),
        };
        Self { shared, types: PhantomData }
    }
}

impl<B: Blueprint, T> BackoffSupervisorProps<B, T> {
    fn marked<S>(self) -> BackoffSupervisorProps<B, S> {
        BackoffSupervisorProps { shared: self.shared, types: PhantomData }
    }

    /// Sets the table that decides the child's failures. The compiler checks that it decides every failure of the
    /// child, and that the table of the supervisor's parent decides what it escalates.
    ///
    /// If failures restart the child in place ([`on_stop`](BackoffSupervisor::on_stop)), the table's strategy applies.
    /// A limit that is [set here](Self::max_retries) replaces the table's.
    pub fn supervised_by<S: SupervisionTable>(mut self) -> BackoffSupervisorProps<B, S>
    where
        B: BlueprintUnder<S>,
    {
        self.shared.strategy = S::STRATEGY;
        self.shared.table = S::TABLE;
        self.shared.decide = decider(S::rule);
        self.marked()
    }

    /// Limits the starts in a row. The supervisor starts the child again at most `retries` times, and stops at the
    /// child's next end. A quiet time or a reset by hand begins a new streak. If failures restart the child in place, the
    /// same limit applies to the restarts in each of its lives.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.shared.limit.max_retries = Some(retries);
        self
    }

    /// Also grants at most that many starts within a window, whatever quiet times there are in between. A window opens
    /// at an end of the child, and the next one at the first end after it has passed. Without
    /// [`max_retries`](Self::max_retries) it grants one start. If a window passes after the first end of a streak without
    /// another end, a new streak begins. So a window that is shorter than the shortest delay never reaches its limit, and
    /// its delays do not grow
    /// (rule [13.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.5)).
    ///
    /// # Panics
    ///
    /// If `window` is zero.
    pub fn within(mut self, window: Duration) -> Self {
        self.shared.limit = self.shared.limit.per(window);
        self
    }

    /// Sets a function, chosen at run time, that decides the child's failures. If it returns `None`, the [default
    /// decider](crate::default_decider) decides. The compiler cannot see what the function escalates, so the table of
    /// the supervisor's parent needs `on(_)`.
    ///
    /// If the choice is known at compile time, use [`supervised_by`](Self::supervised_by), which the compiler checks.
    pub fn decider_unchecked(
        mut self,
        decide: impl Fn(&Failure) -> Option<Directive> + Send + Sync + 'static,
    ) -> BackoffSupervisorProps<B, Unchecked> {
        self.shared.table = DeciderTable::AtRunTime;
        self.shared.decide =
            decider(move |failure, _| Ok((decide(failure).unwrap_or_else(|| by_default(failure)), None)));
        self.marked()
    }

    /// Makes every failure stop the child, so that [`on_stop`](BackoffSupervisor::on_stop) delays every start.
    pub fn stopping(self) -> BackoffSupervisorProps<B, StoppingTable>
    where
        B: BlueprintUnder<StoppingTable>,
    {
        self.supervised_by()
    }

    /// Passes the messages that arrive while there is no child to `answer`, which runs on the supervisor's turn and
    /// must not block. By default these messages become dead letters. In both cases, if a message is dropped
    /// without a reply, its asker gets [`AskError::Stopped`].
    ///
    /// A message of an `#[actor]` comes in its [`Envelope`](crate::Envelope), which holds the place for the reply:
    ///
    /// ```ignore
    /// supervisor.while_stopped(|envelope: Envelope<StoreMessage>| match envelope.into_parts() {
    ///     (StoreMessage::Count, reply) => reply.answer(0_u64),
    ///     (_, reply) => drop(reply),
    /// })
    /// ```
    pub fn while_stopped(mut self, answer: impl Fn(MessageOf<B>) + Send + Sync + 'static) -> Self {
        self.shared.while_stopped = Some(UserValue::new(Box::new(answer)));
        self
    }

    /// Passes the messages that arrive while there is no child on to another actor, which replies to their askers.
    pub fn replaced_by<R>(self, substitute: &R) -> Self
    where
        R: TypedRef,
        R::Actor: Actor<Message = MessageOf<B>>,
    {
        let substitute = substitute.clone();
        self.while_stopped(move |message| {
            let told = substitute.actor_ref().tell(message);
            lost_without_room(told, substitute.actor_ref());
        })
    }

    /// Sets which messages are final: after such a message the supervisor does not start the child again, and stops
    /// when the child does. Without a child the supervisor stops at once, and the message does not become a dead
    /// letter.
    pub fn final_stop(mut self, is_final: impl Fn(&MessageOf<B>) -> bool + Send + Sync + 'static) -> Self {
        self.shared.final_stop = Some(UserValue::new(Box::new(is_final)));
        self
    }

    /// The props for `spawn_with`. The supervisor has the same kind of mailbox as its child.
    pub fn props(self) -> Props<BackoffSupervisor<B::Actor>, NeverFails, T> {
        let shared = Arc::new(self.shared);
        let strategy = match shared.trigger {
            Trigger::Stop if shared.limit.is_unlimited() => shared.strategy,
            Trigger::Stop => Strategy { limit: shared.limit, ..shared.strategy },
            // It restarts nothing in place, so there is nothing to limit.
            Trigger::Failure => Strategy { limit: Limit::UNLIMITED, ..shared.strategy },
        };
        let mailbox = shared.template.mailbox();
        let decider = Arc::clone(&shared);
        Props::new(move || BackoffSupervisor::of(&shared)).mailbox(mailbox).with_policy(
            strategy,
            decider.table,
            move |failure, child| Ok((decider.decide(failure, child)?, strategy)),
        )
    }
}

/// The default table, but a child that could not start itself is stopped, so that the delays of this supervisor apply (rule 13.3) or
/// the supervisor ends (rule 13.4).
fn by_default(failure: &Failure) -> Directive {
    let could_not_start = failure.is_initialization() && failure.origin().is_none();
    if could_not_start { Directive::Stop } else { default_decider(failure) }
}

impl<C: Actor> Shared<C> {
    fn decide(&self, failure: &Failure, child: &ChildInfo) -> Result<Ruled, Failure> {
        let (directive, rule) = (self.decide)(failure, child)?;
        let directive = match (self.trigger, directive) {
            (Trigger::Failure, directive) if directive.restarts() => {
                self.failed.store(true, Ordering::Relaxed);
                Directive::Stop
            }
            (_, directive) => directive,
        };
        let did_not_start = directive == Directive::Stop && failure.is_initialization();
        self.did_not_start.store(did_not_start, Ordering::Relaxed);
        Ok((directive, rule))
    }
}

/// The supervisor's own methods, behind `actor_ref()`.
impl<C: Actor> ActorRef<BackoffSupervisor<C>> {
    /// The child, which may be stopping, or `None` during the delay before its next life.
    ///
    /// # Errors
    ///
    /// If the supervisor has stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn current_child(&self) -> Result<Option<RefOf<C>>, AskError> {
        self.ask_visit(|supervisor, _| supervisor.child.clone().map(Into::into)).await
    }

    /// How many times in a row the child was started again, including a start that is still delayed.
    ///
    /// # Errors
    ///
    /// If the supervisor has stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn restart_count(&self) -> Result<u32, AskError> {
        self.ask_visit(|supervisor, ctx| supervisor.in_a_row(false, system_time(ctx))).await
    }

    /// Resets the count, and with it the delay. Does nothing if a quiet time does that
    /// ([`Backoff::manual_reset`]).
    pub fn reset(&self) {
        self.visit(|supervisor, _| {
            if supervisor.shared.backoff.reset == Reset::Manual {
                supervisor.count.reset();
            }
            Ok(())
        });
    }
}

impl<C: Actor> BackoffSupervisorRef<C> {
    /// The parent of an actor, if it is a backoff supervisor. A child that works well can use it to reset the count.
    pub fn above(ctx: &Context<C>) -> Option<Self> {
        ctx.parent()?.downcast::<BackoffSupervisor<C>>().map(Into::into)
    }
}

impl<C: Actor> BackoffSupervisor<C> {
    fn of(shared: &Arc<Shared<C>>) -> Self {
        // An earlier instance may have set it.
        shared.failed.store(false, Ordering::Relaxed);
        shared.did_not_start.store(false, Ordering::Relaxed);
        Self {
            shared: Arc::clone(shared),
            child: None,
            count: BackoffCount::default(),
            failures: 0,
            ends: RestartStatistics::default(),
            is_final: false,
            is_draining: false,
            start: None,
        }
    }

    /// Invariant 1 (rule 13.2).
    fn start_child(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if self.child.is_some() {
            return Ok(());
        }
        match self.shared.template.spawn(&self.shared.name, ctx) {
            Ok(child) => {
                self.child = Some(child);
                Ok(())
            }
            Err(SpawnError::Stopping { .. }) => Ok(()),
            Err(error) => Err(Failure::new(error)),
        }
    }

    /// How many starts in a row count at `now`. As in Pekko's `BackoffOnRestartSupervisor`, a window that passes after
    /// the first end of a streak without another end closes the streak, as a quiet time does.
    fn in_a_row(&self, did_not_start: bool, now: Time) -> u32 {
        let Shared { backoff, limit, .. } = &*self.shared;
        let count = if did_not_start { self.count.count() } else { self.count.count_at(backoff, now) };
        let passed = |within| self.count.last_failure().is_some_and(|last| now.saturating_sub(last) > within);
        if count == 1 && limit.within.is_some_and(passed) { 0 } else { count }
    }

    /// Counts one more start of the child (rule 13.5).
    fn request_start(&mut self, did_not_start: bool, now: Time) -> Permit {
        let limit = &self.shared.limit;
        let in_a_row = self.in_a_row(did_not_start, now);
        if in_a_row == 0 {
            self.count.reset();
        }
        let start = did_not_start.then_some(0);
        if self.count.attempt(start, &self.shared.backoff, now) == Attempt::GiveUp
            || limit.max_retries.is_some_and(|most| in_a_row >= most)
        {
            return Permit::Refused;
        }
        if limit.within.is_none() { Permit::Granted } else { self.ends.permit(limit, now) }
    }

    /// Lets the child handle what it was sent, and stops with it (rule 13.10).
    fn drain(&mut self, ctx: &mut Context<Self>) {
        self.is_draining = true;
        match &self.child {
            Some(child) => child.stop_when_drained(),
            None => ctx.me().actor_ref().stop(),
        }
    }

    /// Begins the delay before the next life, or stops the supervisor (rules 13.3, 13.4).
    fn child_ended(&mut self, gone: &Terminated, ctx: &mut Context<Self>) {
        let reason = gone.reason();
        self.child = None;
        if self.is_draining {
            return ctx.me().actor_ref().stop();
        }
        let failed = self.shared.failed.swap(false, Ordering::Relaxed);
        let again = match self.shared.trigger {
            Trigger::Stop => !self.is_final,
            Trigger::Failure => failed && !self.is_final,
        };
        let did_not_start = self.shared.did_not_start.swap(false, Ordering::Relaxed);
        let now = system_time(ctx);
        if again && self.request_start(did_not_start, now) == Permit::Granted {
            let (count, backoff, draw) = (&mut self.count, &self.shared.backoff, fastrand::f64());
            let delay = if did_not_start {
                count.failed_to_start(0, backoff, now, draw)
            } else {
                count.failed(backoff, now, draw)
            };
            let attempt = count.count();
            self.failures = match reason.failure() {
                None => 0,
                Some(_) if attempt == 1 => 1,
                Some(_) => self.failures.saturating_add(1),
            };
            if self.failures > 0 {
                let me = ctx.me();
                let observer = me.actor_ref().core().system.observer();
                let delayed = Delayed { delay, attempt, failures: self.failures };
                observer.replacement_delayed(gone.subject().uid(), || gone.path(), delayed);
            }
            self.start = Some(StartLater::new(delay, ctx));
        } else {
            // If its child ended because of a failure, this failure is also the reason of its own end
            // (rule 8.8).
            if let Some(failure) = reason.failure() {
                // After the final message, the supervisor need not replace its child.
                if !self.is_final {
                    observe::child_is_given_up(&ctx.path(), failure);
                    gave_up(ctx, failure);
                }
                let reason = if again { EndReason::LimitReached(failure.clone()) } else { reason };
                ctx.me().actor_ref().core().ends_because(reason);
            }
            ctx.stop_self();
        }
    }
}

#[diagnostic::do_not_recommend]
impl<C: Actor> Supervisor for BackoffSupervisor<C> {
    type Ref = StandInRef<Self>;
    const MAILBOX: MailboxKind = C::MAILBOX;

    fn answers_to(actor: TypeId) -> bool {
        actor == TypeId::of::<Self>() || C::answers_to(actor)
    }
}

#[diagnostic::do_not_recommend]
impl<C: Actor> Actor for BackoffSupervisor<C> {
    type Message = C::Message;
    const AT_DRAIN: Option<fn() -> Visit> = Some(|| Visit::to_drain(Self::drain));

    async fn handle(&mut self, message: C::Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let is_final = self.shared.final_stop.as_ref().is_some_and(|is_final| is_final(&message));
        match &self.child {
            Some(child) => {
                self.is_final |= is_final;
                pass_on(message, child, ctx).await;
            }
            // Rule 13.6.
            None if is_final => {
                drop_because(AskError::Stopped, message);
                ctx.stop_self();
            }
            None => match &self.shared.while_stopped {
                Some(answer) => answer(message),
                None => to_dead_letters(message, DeadLetterReason::NoChild, ctx),
            },
        }
        Ok(())
    }

    /// A restarted supervisor begins like a new one (rule 13.7).
    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        self.start_child(ctx)?;
        ctx.me().actor_ref().go_on_draining();
        Ok(())
    }

    async fn terminated(&mut self, gone: Terminated, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if self.child.as_ref().is_some_and(|child| child.to_any() == *gone.subject()) {
            self.child_ended(&gone, ctx);
        }
        Ok(())
    }

    fn message_name(message: &C::Message) -> &'static str {
        C::message_name(message)
    }
}

impl<C: Actor> AllHandlersStandInOneImplBlock for BackoffSupervisor<C> {
    type Failures = Failures<FailsByItself<SpawnError>>;
}
impl<C: Actor, P: DecidesAll> EscalationsDecidedBy<P> for BackoffSupervisor<C> {}

/// A delayed start. Dropping this cancels it.
struct StartLater(AbortHandle);

impl StartLater {
    fn new<C: Actor>(delay: Duration, ctx: &Context<BackoffSupervisor<C>>) -> Self {
        let supervisor = ctx.me().actor_ref().clone();
        let runtime = supervisor.core().system.runtime().clone();
        let sleep = runtime.spawn(async move {
            tokio::time::sleep(delay).await;
            supervisor.visit(BackoffSupervisor::start_child);
        });
        Self(sleep.abort_handle())
    }
}

impl Drop for StartLater {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<C: Actor> fmt::Debug for BackoffSupervisor<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackoffSupervisor")
            .field("child", &self.child)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl<B: Blueprint, T> fmt::Debug for BackoffSupervisorProps<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackoffSupervisorProps")
            .field("name", &self.shared.name)
            .field("template", &self.shared.template)
            .field("trigger", &self.shared.trigger)
            .field("backoff", &self.shared.backoff)
            .field("limit", &self.shared.limit)
            .finish_non_exhaustive()
    }
}
