//! A supervisor that refuses messages while its one child is down.
//!
//! ```text
//!               the child failed, as often in a row as it takes
//!   Closed ──────────────────────────────────────────────────────► Open: refuses, and says until when
//!      ▲ ▲                                                          ▲  │ the child runs again
//!      │ └── the message was handled ── HalfOpen: one message ◄─────┼──┘
//!      │                                   └── the child failed ────┘
//! ```
//!
//! 1. The child has at most one message, so that after a failure no other messages wait there. A signal behind the message shows
//!    when the child has handled it.
//! 2. The decider runs on the breaker's turn, even while a handler of the breaker waits for the signal. It decides how long the
//!    child waits, so it knows how long the breaker stays open.
//!
//! Rules 23.6 and 23.7.

use std::any::TypeId;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::pass_on::pass_on;
use super::stand_in::StandInRef;
use super::template::Template;
use super::{Blueprint, BlueprintUnder, Decider, decider};
use crate::actor::{
    Actor, ActorRef, AllHandlersStandInOneImplBlock, AskError, CircuitOpen, Context, DeciderTable, DecidesAll,
    DefaultTable, EscalationsDecidedBy, FailsByItself, Failures, NeverFails, Props, Ruled, SpawnError,
    SupervisionTable, Supervisor, Terminated, drop_because,
};
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::observe::DeadLetterReason;
use crate::supervision::{Backoff, BackoffCount, ChildInfo, Directive, Growth, Strategy, Terms, Time};

/// Stands in for one child, and refuses messages while the child is down.
///
/// Without a breaker, messages to a child that waits for its restart wait in its mailbox. A breaker refuses them at once with
/// [`AskError::CircuitOpen`], which says how long the child will wait. When the child runs again, the breaker lets one message
/// through. When the child has handled it, the breaker lets all messages through.
///
/// The table decides the child's failures, by default the [default table](DefaultTable). Where it says `Restart`, the breaker opens and
/// the child waits for `delays`, or for what the rule says (`Restart(backoff(..))`). The breaker ends with its child.
pub struct CircuitBreaker<C: Actor> {
    shared: Arc<Shared<C>>,
    child: Option<ActorRef<C>>,
}

/// What the breaker shares with its decider.
struct Shared<C: Actor> {
    name: String,
    template: Template<C>,
    delays: Backoff,
    /// How many failures in a row open it.
    failures: u32,
    strategy: Strategy,
    decide: Decider,
    state: Mutex<State>,
    /// The start of the times in `state`.
    began: OnceLock<Instant>,
    /// Wakes the handler that waits for the child, when the breaker opens.
    opened: Notify,
}

#[derive(Debug, Default)]
struct State {
    count: BackoffCount,
    circuit: Circuit,
    /// How many messages were tried.
    trials: u64,
}

/// Whether messages are let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Circuit {
    #[default]
    Closed,
    Open {
        /// When the child's delay is over.
        until: Time,
    },
    /// This message is tried.
    HalfOpen { trial: u64 },
}

/// What happens to a message.
enum Gate {
    Pass,
    Try { trial: u64 },
    Refuse(Duration),
}

impl<C: Actor> CircuitBreaker<C> {
    /// Makes a breaker. `template` makes the child, at each restart. `delays` says how long the child waits before a restart, and so how
    /// long the breaker is open.
    pub fn around<B>(
        name: impl Into<String>,
        template: impl Fn() -> B + Send + Sync + 'static,
        delays: Backoff,
    ) -> CircuitBreakerProps<B>
    where
        B: Blueprint<Actor = C>,
    {
        let shared = Shared {
            name: name.into(),
            template: Template::new(template),
            delays,
            failures: 1,
            strategy: DefaultTable::STRATEGY,
            decide: decider(DefaultTable::rule),
            state: Mutex::default(),
            began: OnceLock::new(),
            opened: Notify::new(),
        };
        CircuitBreakerProps { shared, table: DefaultTable::TABLE, types: PhantomData }
    }
}

/// The settings of a [`CircuitBreaker`].
#[must_use = "settings do nothing until `props()` is spawned"]
pub struct CircuitBreakerProps<B: Blueprint, T = DefaultTable> {
    shared: Shared<B::Actor>,
    table: DeciderTable,
    types: PhantomData<fn() -> (B, T)>,
}

impl<B: Blueprint, T> CircuitBreakerProps<B, T> {
    /// Sets the table that decides the child's failures. The compiler checks that it decides every failure of the child, and that the
    /// table of the breaker's parent decides what it escalates.
    pub fn supervised_by<S: SupervisionTable>(mut self) -> CircuitBreakerProps<B, S>
    where
        B: BlueprintUnder<S>,
    {
        self.shared.strategy = S::STRATEGY;
        self.shared.decide = decider(S::rule);
        CircuitBreakerProps { shared: self.shared, table: S::TABLE, types: PhantomData }
    }

    /// Opens the breaker at this many failures in a row; after each earlier one the child restarts at once. The default is 1,
    /// and 0 counts as 1. A streak ends when the child has not failed for the quiet time of the delays ([`Backoff::reset_after`]).
    pub fn after_failures(mut self, failures: u32) -> Self {
        self.shared.failures = failures.max(1);
        self
    }

    /// The props for `spawn_with`. The breaker has the same kind of mailbox as its child.
    pub fn props(self) -> Props<CircuitBreaker<B::Actor>, NeverFails, T> {
        let (shared, table) = (Arc::new(self.shared), self.table);
        let mailbox = shared.template.mailbox();
        let deciding = Arc::clone(&shared);
        // The breaker's own delays take the place of the table's.
        let strategy = Strategy { backoff: None, ..shared.strategy };
        let begin = move || {
            *shared.state() = State::default();
            CircuitBreaker { shared: Arc::clone(&shared), child: None }
        };
        Props::new(begin)
            .mailbox(mailbox)
            .with_policy(strategy, table, move |failure, child| Ok((deciding.decide(failure, child)?, strategy)))
    }
}

impl<C: Actor> Shared<C> {
    fn state(&self) -> MutexGuard<'_, State> {
        // No user code runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        Instant::now().saturating_duration_since(*self.began.get_or_init(Instant::now))
    }

    /// Rule 23.6.
    fn decide(&self, failure: &Failure, child: &ChildInfo) -> Result<Ruled, Failure> {
        let (directive, rule) = (self.decide)(failure, child)?;
        let own = match directive {
            Directive::Restart => None,
            Directive::RestartAfter(delays) => Some(delays),
            Directive::RestartOn(terms) => terms.backoff,
            directive => return Ok((directive, rule)),
        };
        if child.is_answered {
            return Ok((directive, rule));
        }
        let after = |backoff: Option<Backoff>| match directive {
            Directive::RestartOn(terms) => Directive::RestartOn(Terms { backoff, ..terms }),
            _ => backoff.map_or(Directive::Restart, Directive::RestartAfter),
        };
        let delays = own.or(self.strategy.backoff).unwrap_or(self.delays);
        let now = self.now();
        let mut state = self.state();
        let delay = if failure.is_initialization() {
            state.count.failed_to_start(child.runs, &delays, now, fastrand::f64())
        } else {
            state.count.failed_in_run(child.runs, &delays, now, fastrand::f64())
        };
        if state.count.count() < self.failures {
            return Ok((after(None), rule));
        }
        state.circuit = Circuit::Open { until: now.saturating_add(delay) };
        drop(state);
        self.opened.notify_waiters();
        let growth = Growth::Exponential { min: delay, max: delay, jitter: 0.0 };
        Ok((after(Some(Backoff { growth, ..delays })), rule))
    }

    /// Rule 23.7.
    fn gate(&self, child_runs: bool) -> Gate {
        let now = self.now();
        let mut state = self.state();
        match state.circuit {
            Circuit::Closed => Gate::Pass,
            Circuit::Open { .. } if child_runs => {
                state.trials += 1;
                let trial = state.trials;
                state.circuit = Circuit::HalfOpen { trial };
                Gate::Try { trial }
            }
            Circuit::Open { until } => Gate::Refuse(until.saturating_sub(now)),
            Circuit::HalfOpen { .. } => Gate::Refuse(Duration::ZERO),
        }
    }

    /// The child has handled this message, unless it failed: its signal stays in the mailbox, and the next instance finds it.
    fn tried(&self, trial: u64) {
        let mut state = self.state();
        if state.circuit == (Circuit::HalfOpen { trial }) {
            state.circuit = Circuit::Closed;
        }
    }
}

/// The breaker's own methods, behind `actor_ref()`.
impl<C: Actor> ActorRef<CircuitBreaker<C>> {
    /// How long the child still waits for its restart, if the breaker refuses messages. Zero while the child restarts, and
    /// while the breaker tries one message. `None` if the breaker lets messages through.
    ///
    /// # Errors
    ///
    /// If the breaker has stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn refuses_for(&self) -> Result<Option<Duration>, AskError> {
        self.ask_visit(|breaker, _| {
            let circuit = breaker.shared.state().circuit;
            match circuit {
                Circuit::Closed => None,
                Circuit::HalfOpen { .. } => Some(Duration::ZERO),
                Circuit::Open { until } => Some(until.saturating_sub(breaker.shared.now())),
            }
        })
        .await
    }
}

impl<C: Actor> CircuitBreaker<C> {
    /// Gives the child a message, and waits until the child has handled it, the breaker opens, or this actor must stop or restart.
    /// Invariant 1.
    fn pass(
        &self,
        message: C::Message,
        child: &ActorRef<C>,
        ctx: &Context<Self>,
    ) -> impl Future<Output = ()> + Send + use<C> {
        let (shared, child, stopping, me) =
            (Arc::clone(&self.shared), child.clone(), ctx.stopping(), ctx.me_any());
        let passed_on = pass_on(message, &child, ctx);
        async move {
            // The decider opens the breaker. It runs on this actor's turn, so it cannot run before this
            // waits.
            let mut opened = pin!(shared.opened.notified());
            opened.as_mut().enable();
            passed_on.await;
            let (signal, handled) = oneshot::channel();
            child.visit(move |_, _| {
                let _waits = signal.send(());
                Ok(())
            });
            // This also completes when the child has ended, because that drops the signal.
            let (mut handled, mut stopping) = (pin!(handled), pin!(stopping));
            poll_fn(|cx| {
                let over = handled.as_mut().poll(cx).is_ready()
                    || opened.as_mut().poll(cx).is_ready()
                    || stopping.as_mut().poll(cx).is_ready()
                    // Checked in each turn, and a restart that is requested is a turn.
                    || me.core().protocol().waits_for_code();
                if over { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
    }
}

#[diagnostic::do_not_recommend]
impl<C: Actor> Supervisor for CircuitBreaker<C> {
    type Ref = StandInRef<Self>;
    const MAILBOX: MailboxKind = C::MAILBOX;

    fn answers_to(actor: TypeId) -> bool {
        actor == TypeId::of::<Self>() || C::answers_to(actor)
    }
}

#[diagnostic::do_not_recommend]
impl<C: Actor> Actor for CircuitBreaker<C> {
    type Message = C::Message;

    async fn handle(&mut self, message: C::Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let Some(child) = &self.child else { unreachable!("the child is spawned before the first message") };
        let child_runs = child.core().protocol().accepts_messages();
        match self.shared.gate(child_runs) {
            Gate::Pass => self.pass(message, child, ctx).await,
            Gate::Try { trial } => {
                let (shared, child) = (Arc::clone(&self.shared), child.clone());
                pass_on(message, &child, ctx).await;
                child.visit(move |_, _| {
                    shared.tried(trial);
                    Ok(())
                });
            }
            Gate::Refuse(retry_after) => {
                let name = C::message_name(&message);
                let why = AskError::CircuitOpen(Box::new(CircuitOpen { breaker: ctx.path(), retry_after }));
                // If an asker gets the error, the message does not count as lost.
                if !drop_because(why, message) {
                    ctx.me_any().core().dead_letter(name, DeadLetterReason::CircuitOpen);
                }
            }
        }
        Ok(())
    }

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match self.shared.template.spawn(&self.shared.name, ctx) {
            Ok(child) => self.child = Some(child),
            Err(error) => return Err(Failure::new(error)),
        }
        Ok(())
    }

    async fn terminated(&mut self, gone: Terminated, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if self.child.as_ref().is_some_and(|child| child.to_any() == *gone.subject()) {
            ctx.stop_self();
        }
        Ok(())
    }

    fn message_name(message: &C::Message) -> &'static str {
        C::message_name(message)
    }
}

impl<C: Actor> AllHandlersStandInOneImplBlock for CircuitBreaker<C> {
    type Failures = Failures<FailsByItself<SpawnError>>;
}
impl<C: Actor, P: DecidesAll> EscalationsDecidedBy<P> for CircuitBreaker<C> {}

impl<C: Actor> fmt::Debug for CircuitBreaker<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker").field("child", &self.child).finish_non_exhaustive()
    }
}

impl<B: Blueprint, T> fmt::Debug for CircuitBreakerProps<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { template, delays, failures, .. } = &self.shared;
        f.debug_struct("CircuitBreakerProps")
            .field("template", template)
            .field("delays", delays)
            .field("failures", failures)
            .finish_non_exhaustive()
    }
}
