//! A supervisor that starts its one child anew after a delay.
//!
//! ```text
//!              child ended, and it is its turn again          the delay is over
//!   Running ──────────────────────────────────────► Waiting ────────────────────► Running (a new incarnation)
//!      │                                               │
//!      └── ended for good, or once too often ──────────┴──► the supervisor stops itself
//! ```
//!
//! | how the child ended | on stop | on failure |
//! |---|---|---|
//! | by itself, or by somebody's stop | delayed start | the supervisor stops |
//! | the decider says `Stop` | delayed start | the supervisor stops |
//! | the decider says `Restart` | (restarted in place, at once) | delayed start |
//!
//! 1. There is at most one child: the next one is made when the end of the last one has been processed.
//! 2. `restart_count` grows when the end of a child has been processed, and is forgotten after a quiet time or by hand.
//! 3. A decider sees no instance. What it decides about the end to come, it leaves in `Plan::failed`.
//!
//! What it deliberately does not do: keep messages for the next child. Its mailbox is open all the time; what cannot be
//! passed on is answered by hand or becomes a dead letter. A child restarted in place
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
use super::template::{Blueprint, Template};
use super::{BlueprintUnder, Decider, decider, partial_decider, system_time};
use crate::actor::{
    Actor, ActorRef, AskError, Context, DeciderTable, Decides, DecidesAll, DefaultTable, EscalationsDecidedBy,
    FailuresDecidedBy, NeverFails, Props, RefOf, SpawnError, StoppingTable, SupervisionTable, Supervisor,
    Terminated, TypedRef, Unchecked,
};
use crate::base::{UserValue, drop_contained};
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::supervision::{
    Backoff, BackoffCount, ChildInfo, Directive, Growth, Limit, Reset, RestartStatistics, Strategy, Time,
};

/// Stands in for one child, and starts it anew after a delay that grows each time.
///
/// Every life of the child is a new incarnation: new ref, empty mailbox, no watchers. Its name stays. To keep the
/// mailbox instead, let the parent's table say `Restart(backoff(..))`.
///
/// Its ref dereferences to the child's own; see the [module](crate::pattern) for an example. Its child's failures are decided by
/// the [default table](crate::DefaultTable), or by [another one](BackoffSupervisorProps::supervised_by) that the compiler checks.
pub struct BackoffSupervisor<C: Actor> {
    plan: Arc<Plan<C>>,
    child: Option<ActorRef<C>>,
    count: BackoffCount,
    /// The child ends within a window, where there is one.
    ends: RestartStatistics,
    /// The child was sent the message after which it is not started again.
    is_final: bool,
    start: Option<StartLater>,
}

/// When the child is started anew after a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trigger {
    Stop,
    Failure,
}

type Answer<M> = UserValue<Box<dyn Fn(M) + Send + Sync>>;
type Predicate<M> = UserValue<Box<dyn Fn(&M) -> bool + Send + Sync>>;

struct Plan<C: Actor> {
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
    /// The child is being stopped because it failed, to be started again. Invariant 3.
    failed: AtomicBool,
}

impl<C: Actor> BackoffSupervisor<C> {
    /// Starts the child anew after a delay whenever it *ends*.
    ///
    /// Failures are decided as usual: with the default decider a crash restarts the child in place and at once, and
    /// only what stops it (its own stop, a failed start) leads to the delay. With
    /// [`stopping`](BackoffSupervisorProps::stopping) every failure does.
    ///
    /// `template` makes the child, for each life and each restart in place. `delays` says how long to wait, and whether
    /// the count starts anew after a quiet time (by default when a child lived as long as the longest delay) or
    /// [by hand](ActorRef::reset).
    ///
    /// # Panics
    ///
    /// If `delays` is to start anew after a time shorter than its shortest delay or longer than its longest.
    pub fn on_stop<B>(
        name: impl Into<String>,
        template: impl Fn() -> B + Send + Sync + 'static,
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

    /// Starts the child anew after a delay whenever it *fails* and its failure is decided with `Restart`: it is
    /// stopped first, and started when it has ended and the delay is over.
    ///
    /// A child that ends for any other reason ends the supervisor: its own stop, a `Stop` of the decider, which by
    /// default includes a failed start.
    ///
    /// `template` makes the child, once for each life. `delays` says how long to wait, and whether the count starts
    /// anew after a quiet time (by default when a child lived as long as the longest delay) or
    /// [by hand](ActorRef::reset).
    pub fn on_failure<B>(
        name: impl Into<String>,
        template: impl Fn() -> B + Send + Sync + 'static,
        delays: Backoff,
    ) -> BackoffSupervisorProps<B>
    where
        B: Blueprint<Actor = C>,
    {
        BackoffSupervisorProps::new(name.into(), Template::new(template), Trigger::Failure, delays)
    }
}

/// Settings of a [`BackoffSupervisor`] to be. `B` is what its template returns, `T` the table that says what the supervisor escalates.
#[must_use = "settings do nothing until `props()` is spawned"]
pub struct BackoffSupervisorProps<B: Blueprint, T = DefaultTable> {
    plan: Plan<B::Actor>,
    marks: PhantomData<fn() -> (B, T)>,
}

type MessageOf<B> = <<B as Blueprint>::Actor as Actor>::Message;

impl<B: Blueprint> BackoffSupervisorProps<B> {
    fn new(name: String, template: Template<B::Actor>, trigger: Trigger, backoff: Backoff) -> Self {
        let plan = Plan {
            name,
            template,
            trigger,
            backoff,
            limit: Limit::UNLIMITED,
            strategy: DefaultTable::STRATEGY,
            table: DefaultTable::TABLE,
            decide: decider(DefaultTable::decide),
            while_stopped: None,
            final_stop: None,
            failed: AtomicBool::new(false),
        };
        Self { plan, marks: PhantomData }
    }
}

impl<B: Blueprint, T> BackoffSupervisorProps<B, T> {
    fn marked<S>(self) -> BackoffSupervisorProps<B, S> {
        BackoffSupervisorProps { plan: self.plan, marks: PhantomData }
    }

    /// Decides the child's failures by this table. It decides every failure of the child, and the table of the supervisor's parent
    /// decides what it escalates: both are checked at compile time.
    ///
    /// Where failures restart the child in place ([`on_stop`](BackoffSupervisor::on_stop)), they do so by the table's
    /// strategy; a limit that is [set here](Self::max_retries) takes the place of the table's.
    pub fn supervised_by<S: SupervisionTable>(mut self) -> BackoffSupervisorProps<B, S>
    where
        B: BlueprintUnder<S>,
    {
        self.plan.strategy = S::STRATEGY;
        self.plan.table = S::TABLE;
        self.plan.decide = decider(S::decide);
        self.marked()
    }

    /// Starts the child anew at most `retries` times in a row; the next end is the supervisor's too. A quiet time, or a
    /// reset by hand, begins a new row. Where failures restart the child in place, each of its lives has that many.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.plan.limit.max_retries = Some(retries);
        self
    }

    /// Also grants at most that many starts within a window, whatever quiet times lie between. It opens at an end of the
    /// child, and anew at the first end after it has passed. Without [`max_retries`](Self::max_retries) it grants one. A
    /// window that passes after the first end of a row without another begins a new row too: one that is shorter than the
    /// shortest delay is never exceeded, and no delay grows under it (rule 13.5).
    ///
    /// # Panics
    ///
    /// If `window` is zero.
    pub fn within(mut self, window: Duration) -> Self {
        assert!(!window.is_zero(), "a restart window must be longer than zero");
        self.plan.limit.within = Some(window);
        self
    }

    /// Decides the child's failures by a function that is chosen at run time. What it has no opinion on, the
    /// [default decider](crate::default_decider) decides. The compiler cannot see what it escalates, so the table of the
    /// supervisor's parent needs `on(_)`.
    ///
    /// Where the choice is known at compile time, [`supervised_by`](Self::supervised_by) is checked.
    pub fn decider_unchecked(
        mut self,
        decide: impl Fn(&Failure) -> Option<Directive> + Send + Sync + 'static,
    ) -> BackoffSupervisorProps<B, Unchecked> {
        self.plan.table = DeciderTable::AtRunTime;
        self.plan.decide = partial_decider(decide);
        self.marked()
    }

    /// Lets every failure stop the child, so that [`on_stop`](BackoffSupervisor::on_stop) delays every start.
    pub fn stopping(self) -> BackoffSupervisorProps<B, StoppingTable>
    where
        B: BlueprintUnder<StoppingTable>,
    {
        self.supervised_by()
    }

    /// Gives the messages that come while there is no child to `answer`, on the supervisor's turn. It must not block.
    /// By default they become dead letters. Either way the asker of a message that is dropped unanswered learns that
    /// the actor has stopped.
    ///
    /// A message of an `#[actor]` comes in its [`Envelope`](crate::Envelope), which gives the place for the reply:
    ///
    /// ```ignore
    /// supervisor.while_stopped(|envelope: Envelope<StoreMessage>| match envelope.into_parts() {
    ///     (StoreMessage::Count, reply) => reply.answer(0_u64),
    ///     (_, reply) => drop(reply),
    /// })
    /// ```
    pub fn while_stopped(mut self, answer: impl Fn(MessageOf<B>) + Send + Sync + 'static) -> Self {
        self.plan.while_stopped = Some(UserValue::new(Box::new(answer)));
        self
    }

    /// Passes the messages that come while there is no child on to another actor that takes them. It answers whoever
    /// asked.
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

    /// A message after which the child is not started again: the supervisor stops when the child does. Without a child
    /// it stops at once, and the message is no dead letter.
    pub fn final_stop(mut self, is_final: impl Fn(&MessageOf<B>) -> bool + Send + Sync + 'static) -> Self {
        self.plan.final_stop = Some(UserValue::new(Box::new(is_final)));
        self
    }

    /// What `spawn_with` takes. The supervisor's mailbox is of the child's kind.
    pub fn props(self) -> Props<BackoffSupervisor<B::Actor>, NeverFails, T> {
        let plan = Arc::new(self.plan);
        let strategy = match plan.trigger {
            Trigger::Stop if plan.limit.is_unlimited() => plan.strategy,
            Trigger::Stop => Strategy { limit: plan.limit, ..plan.strategy },
            // No restart is left to be limited.
            Trigger::Failure => Strategy { limit: Limit::UNLIMITED, ..plan.strategy },
        };
        let mailbox = plan.template.mailbox();
        let decider = Arc::clone(&plan);
        Props::new(move || BackoffSupervisor::of(&plan)).mailbox(mailbox).with_policy(
            strategy,
            decider.table,
            move |failure, child| Ok((decider.decide(failure, child)?, strategy)),
        )
    }
}

impl<C: Actor> Plan<C> {
    fn decide(&self, failure: &Failure, child: &ChildInfo) -> Result<Directive, Failure> {
        Ok(match (self.trigger, (self.decide)(failure, child)?) {
            (Trigger::Failure, Directive::Restart | Directive::RestartAfter(_)) => {
                self.failed.store(true, Ordering::Relaxed);
                Directive::Stop
            }
            (_, directive) => directive,
        })
    }
}

/// What only the supervisor can be asked, behind `actor_ref()`.
impl<C: Actor> ActorRef<BackoffSupervisor<C>> {
    /// The child, which may be ending; none while its next life is waited for.
    ///
    /// # Errors
    ///
    /// If the supervisor has stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn current_child(&self) -> Result<Option<RefOf<C>>, AskError> {
        self.ask_visit(|supervisor, _| supervisor.child.clone().map(Into::into)).await
    }

    /// How many times in a row the child was started anew, the start that is waited for included.
    ///
    /// # Errors
    ///
    /// If the supervisor has stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn restart_count(&self) -> Result<u32, AskError> {
        self.ask_visit(|supervisor, ctx| supervisor.in_a_row(system_time(ctx))).await
    }

    /// Lets the count, and with it the delay, start anew. Does nothing where a quiet time does that
    /// ([`Backoff::manual_reset`]).
    pub fn reset(&self) {
        self.visit(|supervisor, _| {
            if supervisor.plan.backoff.reset == Reset::Manual {
                supervisor.count.reset();
            }
            Ok(())
        });
    }
}

impl<C: Actor> BackoffSupervisorRef<C> {
    /// The backoff supervisor of an actor, if its parent is one: a child that is well resets it through this.
    pub fn above(ctx: &Context<C>) -> Option<Self> {
        ctx.parent()?.downcast::<BackoffSupervisor<C>>().map(Into::into)
    }
}

impl<C: Actor> BackoffSupervisor<C> {
    fn of(plan: &Arc<Plan<C>>) -> Self {
        // Of an earlier instance.
        plan.failed.store(false, Ordering::Relaxed);
        Self {
            plan: Arc::clone(plan),
            child: None,
            count: BackoffCount::default(),
            ends: RestartStatistics::default(),
            is_final: false,
            start: None,
        }
    }

    /// Invariant 1 (rule 13.2).
    fn start_child(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if self.child.is_some() {
            return Ok(());
        }
        match self.plan.template.spawn(&self.plan.name, ctx) {
            Ok(child) => {
                self.child = Some(child);
                Ok(())
            }
            Err(SpawnError::Stopping { .. }) => Ok(()),
            Err(error) => Err(Failure::new(error)),
        }
    }

    /// How many starts in a row count at `now`. As in Pekko's `BackoffOnRestartSupervisor`, a window that passes after the
    /// first end of a row without another ends the row, as a quiet time does.
    fn in_a_row(&self, now: Time) -> u32 {
        let Plan { backoff, limit, .. } = &*self.plan;
        let count = self.count.count_at(backoff, now);
        let passed = |within| self.count.last_failure().is_some_and(|last| now.saturating_sub(last) > within);
        if count == 1 && limit.within.is_some_and(passed) { 0 } else { count }
    }

    /// Whether the child may be started once more (rule 13.5).
    fn permits_start(&mut self, now: Time) -> bool {
        let limit = &self.plan.limit;
        let in_a_row = self.in_a_row(now);
        if in_a_row == 0 {
            self.count.reset();
        }
        limit.max_retries.is_none_or(|most| in_a_row < most)
            && (limit.within.is_none() || self.ends.permit(limit, now))
    }

    /// Begins the wait for the next life, or gives up (rules 13.3, 13.4).
    fn child_ended(&mut self, ctx: &mut Context<Self>) {
        self.child = None;
        let failed = self.plan.failed.swap(false, Ordering::Relaxed);
        let again = match self.plan.trigger {
            Trigger::Stop => !self.is_final,
            Trigger::Failure => failed && !self.is_final,
        };
        let now = system_time(ctx);
        if again && self.permits_start(now) {
            let delay = self.count.failed(&self.plan.backoff, now, fastrand::f64());
            self.start = Some(StartLater::new(delay, ctx));
        } else {
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

    async fn handle(&mut self, message: C::Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let is_final = self.plan.final_stop.as_ref().is_some_and(|is_final| is_final(&message));
        match &self.child {
            Some(child) => {
                self.is_final |= is_final;
                pass_on(message, child, ctx).await;
            }
            // Rule 13.6.
            None if is_final => {
                drop_contained(message);
                ctx.stop_self();
            }
            None => match &self.plan.while_stopped {
                Some(answer) => answer(message),
                None => to_dead_letters(message, ctx),
            },
        }
        Ok(())
    }

    /// A restarted supervisor begins like a new one (rule 13.7).
    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        self.start_child(ctx)
    }

    async fn terminated(&mut self, gone: Terminated, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if self.child.as_ref().is_some_and(|child| child.to_any() == *gone.subject()) {
            self.child_ended(ctx);
        }
        Ok(())
    }

    fn message_name(message: &C::Message) -> &'static str {
        C::message_name(message)
    }
}

impl<C: Actor, P: Decides<SpawnError>> FailuresDecidedBy<P> for BackoffSupervisor<C> {}
impl<C: Actor, P: DecidesAll> EscalationsDecidedBy<P> for BackoffSupervisor<C> {}

/// The start that is waited for. Dropped, it does not come.
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
            .field("name", &self.plan.name)
            .field("template", &self.plan.template)
            .field("trigger", &self.plan.trigger)
            .field("backoff", &self.plan.backoff)
            .field("limit", &self.plan.limit)
            .finish_non_exhaustive()
    }
}
