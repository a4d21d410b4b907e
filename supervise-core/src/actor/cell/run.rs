//! The cell's own future: it chooses what to do next, and runs the user code that may wait.
//!
//! `messages` handles the entries of the user lane, `calls` makes the calls that the protocol wants, and `inline_turn`
//! is a turn on an asker's stack.

mod calls;
mod inline_turn;
mod messages;
#[cfg(feature = "durable")]
mod stored;
mod supervision_turn;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

pub(super) use self::messages::Interrupt;
pub use self::messages::StashOverflow;
#[cfg(feature = "durable")]
pub(super) use self::stored::{begin, is_tried_alone, may_begin};
pub(super) use self::supervision_turn::decide_now;
use super::Cell;
use super::effect_runner::EffectRunner;
use super::user_code::{self, Broken};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::actor_timers::ActorTimers;
use crate::actor::context::Context;
use crate::actor::control::Control;
use crate::actor::definition::Actor;
use crate::actor::dispatch::{self, Extent};
use crate::actor::props::{AnyFactory, Props};
use crate::actor::reply;
use crate::actor::request::AskError;
use crate::base::{UserValue, drop_contained};
use crate::failure::{During, Failure};
use crate::supervision::Input;

/// How many messages a cell handles in one turn, and how many system messages. Rule 1.9.
pub(super) const THROUGHPUT: u32 = 128;

/// The part of a cell that only its own future touches.
pub(crate) struct Runner<A: Actor> {
    factory: UserValue<AnyFactory<A>>,
    instance: Option<A>,
    ctx: Context<A>,
    effects: EffectRunner<A>,
}

/// What the cell does next.
enum Next {
    /// Something was done. Choose again.
    Again,
    /// Let other actors have their turns.
    GiveWay,
    /// Wait until something arrives.
    Wait,
    Call(UserCode),
    /// Wait until the store knows the failure of the message that comes next.
    #[cfg(feature = "durable")]
    WaitForStore,
    /// The cell has ended.
    End,
}

/// User code that may wait; `run` calls it.
///
/// Its arguments are stored elsewhere: in here they would take room in the future of every actor, all the time.
enum UserCode {
    PreStart,
    PostRestart,
    PreRestart {
        own: bool,
    },
    PostStop,
    /// The handler of the message at the front.
    Message,
    /// The handler of the messages that are gathered.
    Batch,
    /// Tell the actor that a watched actor ended.
    Terminated,
}

/// The result of a call into user code.
pub(super) type UserCodeResult = Result<Result<(), Failure>, Broken>;

impl<A: Actor> Runner<A> {
    pub(crate) fn new(cell: Arc<Cell<A::Message>>, props: Props<A>) -> Self {
        let Props { factory, settings, .. } = props;
        let ctx = Context::new(Arc::clone(&cell));
        Self { factory, instance: None, ctx, effects: EffectRunner::new(cell, settings) }
    }

    /// Runs the cell until it ends.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` would hold the runner twice: as argument and as variable"
    )]
    pub(crate) fn run(mut self) -> impl Future<Output = ()> + Send {
        async move {
            /// Calls user code that may wait. The future is made where it is kept, so that it is never copied.
            macro_rules! finish {
                (|$instance:ident, $ctx:ident, $effects:ident| $code:expr) => {{
                    let ($instance, $ctx, $effects) = self.parts();
                    user_code::finish(pin!(Some($code)), $effects).await
                }};
            }

            self.begin();
            while let Some(code) = poll_fn(|cx| self.poll_next(cx)).await {
                match code {
                    UserCode::Message => {
                        let outcome = finish!(|instance, ctx, effects| instance.handle(effects.take_front(), ctx));
                        self.handled(outcome);
                    }
                    UserCode::Batch if !A::BATCHES => unreachable!("this actor gathers no messages"),
                    UserCode::Batch => {
                        #[cfg(feature = "durable")]
                        if const { A::DURABLE.is_some() } && !self.effects.may_begin_batch() {
                            self.handled(Ok(Ok(())));
                            continue;
                        }
                        let outcome = finish!(|instance, ctx, effects| {
                            #[cfg_attr(
                                not(feature = "durable"),
                                expect(unused_mut, reason = "stored messages are begun")
                            )]
                            let (handler, mut batch) = effects.take_batch();
                            #[cfg(feature = "durable")]
                            if const { A::DURABLE.is_some() } {
                                for message in &mut batch {
                                    begin(ctx, effects, message);
                                }
                            }
                            instance.handle_batch(handler, batch, ctx)
                        });
                        self.handled(outcome);
                    }
                    UserCode::Terminated => {
                        let outcome =
                            finish!(|instance, ctx, effects| instance.terminated(effects.take_gone(), ctx));
                        self.handled(Self::left_watch(outcome));
                    }
                    UserCode::PreStart => {
                        let outcome = finish!(|instance, ctx, effects| instance.pre_start(ctx));
                        let _again = self.built(During::PreStart.number(), outcome);
                    }
                    UserCode::PostRestart => {
                        let cause = self.effects.take_cause();
                        let outcome = finish!(|instance, ctx, effects| instance.post_restart(ctx, &cause));
                        let _again = self.built(During::PostRestart.number(), outcome);
                    }
                    UserCode::PreRestart { own } => {
                        let cause = self.effects.take_cause();
                        let message = if own { self.failed_message() } else { None };
                        let outcome = finish!(|instance, ctx, effects| instance.pre_restart(ctx, &cause, message));
                        let _again = self.returned(During::PreRestart.number(), outcome);
                    }
                    UserCode::PostStop => {
                        let outcome = finish!(|instance, ctx, effects| instance.post_stop(ctx));
                        let _again = self.returned(During::PostStop.number(), outcome);
                    }
                }
            }
        }
    }

    fn begin(&mut self) {
        let first = self.effects.cell.core.protocol().begin();
        self.effects.call = Some(first);
    }

    /// The instance, its context, and the part that continues to work while those are borrowed.
    fn parts(&mut self) -> (&mut A, &mut Context<A>, &mut EffectRunner<A>) {
        let Self { instance: Some(instance), ctx, effects, .. } = self else {
            unreachable!("messages are accepted, and hooks called, only with an instance");
        };
        (instance, ctx, effects)
    }

    /// Runs until the cell must call user code that may wait. `None` means that the cell has ended, and Pending
    /// that the turn has ended.
    fn poll_next(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<UserCode>> {
        match dispatch::extent() {
            Extent::Whole => {}
            nested => return self.take_nested_turn(nested),
        }
        loop {
            match self.next_action() {
                Next::Again => {}
                Next::GiveWay => {
                    self.effects.give_way();
                    return Poll::Pending;
                }
                Next::Wait if A::BATCHES && self.effects.poll_batch(cx).is_ready() => {
                    return Poll::Ready(Some(self.begin_batch()));
                }
                Next::Wait => match self.effects.poll_wait(&mut self.ctx, cx) {
                    Poll::Ready(timer) => self.step(Input::Due(timer)),
                    Poll::Pending => return Poll::Pending,
                },
                Next::Call(code) => return Poll::Ready(Some(code)),
                #[cfg(feature = "durable")]
                Next::WaitForStore => match self.effects.poll_store(cx) {
                    Poll::Ready(timer) => self.step(Input::Due(timer)),
                    Poll::Pending => return Poll::Pending,
                },
                Next::End => return Poll::Ready(None),
            }
        }
    }

    /// A turn on another stack, which may do less than a whole one.
    #[inline(never)]
    fn take_nested_turn(&mut self, extent: Extent) -> Poll<Option<UserCode>> {
        if extent == Extent::Supervision { self.take_supervision_turn() } else { self.take_inline_turn() }
    }

    /// Does what comes first: what the last step left, the rest of an inline turn, the protocol's call, the system lane, the timers, and
    /// the user lane.
    ///
    /// Rules 1.1 and 1.3.
    #[inline]
    fn next_action(&mut self) -> Next {
        if let Some(next) = self.left_over() {
            return next;
        }
        if self.effects.call.is_some() {
            return self.call();
        }
        if self.effects.supervised >= THROUGHPUT {
            return Next::GiveWay;
        }
        if let Some(message) = self.effects.next_system() {
            self.step(Input::Message(message));
            return Next::Again;
        }
        if let Some(timer) = self.effects.next_due() {
            self.step(Input::Due(timer));
            return Next::Again;
        }
        if !self.effects.accepts {
            return if self.effects.ended { Next::End } else { Next::Wait };
        }
        if self.effects.handled >= THROUGHPUT {
            return Next::GiveWay;
        }
        if A::BATCHES && self.effects.batch_is_due(false) {
            return Next::Call(self.begin_batch());
        }
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() }
            && let Some(next) = self.try_again()
        {
            return next;
        }
        if let Some(next) = self.retry() {
            return next;
        }
        if let Some(message) = self.effects.take_unstashed() {
            return self.admit(message);
        }
        // Checked here too, because a busy actor never waits for its timers.
        while let Some(generation) = self.ctx.timers_mut().and_then(ActorTimers::next_due) {
            self.effects.enqueue(Control::Tick(generation));
        }
        self.drain_messages()
    }

    /// Adds the hook of this number to a failure.
    #[cold]
    fn left_hook(&self, hook: u16, failure: Failure) -> Failure {
        let hook = During::numbered(hook, &[]);
        let entered = During::numbered(self.effects.cell.mailbox.entered(), A::HANDLERS);
        failure.left(match (hook, entered) {
            // By default, these hooks run the other hook.
            (Some(During::PostRestart), Some(During::PreStart))
            | (Some(During::PreRestart), Some(During::PostStop)) => entered,
            _ => hook,
        })
    }

    /// Adds the `#[watch]` method to the failure, if it failed.
    fn left_watch(outcome: UserCodeResult) -> UserCodeResult {
        let watch = Some(During::Watch);
        match outcome {
            Ok(Err(failure)) => Ok(Err(failure.left(watch))),
            Err(Broken::Panicked(payload)) => Ok(Err(Failure::panic(payload).left(watch))),
            Ok(Ok(())) | Err(Broken::Aborted) => outcome,
        }
    }

    /// Adds the handler that was entered last to a failure.
    #[cold]
    fn left_handler(&self, failure: Failure) -> Failure {
        failure.left(match A::HANDLERS {
            [] => Some(During::Handler("handle")),
            handlers => During::numbered(self.effects.cell.mailbox.entered(), handlers),
        })
    }

    /// What the last step or an inline turn left.
    #[inline]
    fn left_over(&mut self) -> Option<Next> {
        if !self.effects.has_rare() {
            None
        } else if self.effects.has_rest() {
            Some(self.go_on_with_rest())
        } else {
            self.effects.take_deferred().map(|interrupt| self.interrupted(Ok(interrupt)))
        }
    }

    #[cold]
    fn go_on_with_rest(&mut self) -> Next {
        if self.effects.has_supervised_enough() {
            return Next::GiveWay;
        }
        let Self { instance, ctx, effects, .. } = self;
        effects.go_on_with_rest(&mut || {
            ctx.clear();
            drop_contained(instance.take());
        });
        Next::Again
    }

    fn step(&mut self, input: Input<'_, AnyActorRef, Failure>) {
        let Self { instance, ctx, effects, .. } = self;
        effects.step(input, &mut || {
            ctx.clear();
            drop_contained(instance.take());
        });
    }
}

/// Called when the runtime goes away. The instance is dropped separately, so that its panic cannot affect another value.
impl<A: Actor> Drop for Runner<A> {
    fn drop(&mut self) {
        if A::KEEPS_REPLIES {
            reply::dropping(AskError::Stopped, || drop_contained(self.instance.take()));
        } else {
            drop_contained(self.instance.take());
        }
    }
}
