//! The cell's own future: what it does next, and the user code it runs.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use super::effect_runner::EffectRunner;
use super::user_code::{self, Broken};
use super::{Cell, Visit};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::actor_timers::{ActorTimers, Fired, Generation};
use crate::actor::context::Context;
use crate::actor::control::Control;
use crate::actor::death_watch::Terminated;
use crate::actor::definition::Actor;
use crate::actor::dispatch;
use crate::actor::props::{Factory, Props};
use crate::actor::request::{AskError, ErasedSlot, drop_because};
use crate::base::{Payload, UserValue, contained, drop_contained};
use crate::failure::Failure;
use crate::observe::DeadLetterReason;
use crate::supervision::{Call, Input, Returned, WatchKind};

/// How many messages a cell handles in one turn, and how many system messages. Rule 1.9.
pub(super) const THROUGHPUT: u32 = 128;

/// What only the cell's own future touches.
pub(crate) struct Runner<A: Actor> {
    factory: UserValue<Factory<A>>,
    instance: Option<A>,
    ctx: Context<A>,
    effects: EffectRunner<A>,
}

/// What the cell does next.
enum Next {
    /// Something was done; look again.
    Again,
    /// Let others have their turn.
    GiveWay,
    /// Nothing until something comes.
    Wait,
    Call(UserCode),
    /// Nothing ever.
    End,
}

/// User code that may wait; `run` calls it.
///
/// What it is called with stays where it was: in here it would take room in the future of every actor, all the time.
enum UserCode {
    PreStart,
    PostRestart,
    PreRestart {
        own: bool,
    },
    PostStop,
    /// The handler of the message at the front.
    Message,
    /// Tell the actor that another one ended.
    Terminated,
}

/// A message was to be set aside and the stash was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stash is full: it holds {capacity} messages")]
pub struct StashOverflow {
    /// How many it holds.
    pub capacity: usize,
}

/// Why the cell stops draining its messages.
pub(super) enum Interrupt<M> {
    /// No message is left.
    Nothing,
    Control(Control),
    /// The handler of the message at the front may wait.
    MayWait,
    /// The actor would set this one aside.
    Unwanted(M),
    /// A handler came back and there is something to be settled.
    Back(UserCodeResult),
    Else,
}

/// What a call into user code came to.
pub(super) type UserCodeResult = Result<Result<(), Failure>, Broken>;

impl<A: Actor> Runner<A> {
    pub(crate) fn new(cell: Arc<Cell<A::Message>>, props: Props<A>) -> Self {
        let Props { factory, settings, .. } = props;
        let ctx = Context::new(Arc::clone(&cell));
        Self { factory, instance: None, ctx, effects: EffectRunner::new(cell, settings) }
    }

    /// The cell's life.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` would hold the runner twice: as argument and as variable"
    )]
    pub(crate) fn run(mut self) -> impl Future<Output = ()> + Send {
        async move {
            /// Calls user code that may wait. Its future is made where it is kept, so that there is one copy of it.
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
                    UserCode::Terminated => {
                        let outcome =
                            finish!(|instance, ctx, effects| instance.terminated(effects.take_gone(), ctx));
                        self.handled(outcome);
                    }
                    UserCode::PreStart => {
                        let outcome = finish!(|instance, ctx, effects| instance.pre_start(ctx));
                        let _again = self.built(outcome);
                    }
                    UserCode::PostRestart => {
                        let cause = self.effects.take_cause();
                        let outcome = finish!(|instance, ctx, effects| instance.post_restart(ctx, &cause));
                        let _again = self.built(outcome);
                    }
                    UserCode::PreRestart { own } => {
                        let cause = self.effects.take_cause();
                        let message = if own { self.failed_message() } else { None };
                        let outcome = finish!(|instance, ctx, effects| instance.pre_restart(ctx, &cause, message));
                        let _again = self.returned(outcome);
                    }
                    UserCode::PostStop => {
                        let outcome = finish!(|instance, ctx, effects| instance.post_stop(ctx));
                        let _again = self.returned(outcome);
                    }
                }
            }
        }
    }

    fn begin(&mut self) {
        let first = self.effects.cell.core.protocol().begin();
        self.effects.call = Some(first);
    }

    /// The instance, and what goes on while it is borrowed.
    fn parts(&mut self) -> (&mut A, &mut Context<A>, &mut EffectRunner<A>) {
        let Self { instance: Some(instance), ctx, effects, .. } = self else {
            unreachable!("messages are accepted, and hooks called, only with an instance");
        };
        (instance, ctx, effects)
    }

    /// Goes on as long as no user code has to be called that may wait. None: for ever. Pending: the turn has ended.
    fn poll_next(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<UserCode>> {
        if dispatch::is_inline() {
            return self.take_inline_turn();
        }
        loop {
            match self.next_action() {
                Next::Again => {}
                Next::GiveWay => {
                    self.effects.give_way();
                    return Poll::Pending;
                }
                Next::Wait => match self.effects.poll_wait(&mut self.ctx, cx) {
                    Poll::Ready(timer) => self.step(Input::Due(timer)),
                    Poll::Pending => return Poll::Pending,
                },
                Next::Call(code) => return Poll::Ready(Some(code)),
                Next::End => return Poll::Ready(None),
            }
        }
    }

    /// A turn on an asker's stack. It handles the message that came first, which is the asker's own, because the actor was
    /// idle. Everything that is not about this message is left to a worker: what others have sent meanwhile, a handler that
    /// may wait, a failure.
    ///
    /// Rule 1.8.
    #[inline(never)]
    fn take_inline_turn(&mut self) -> Poll<Option<UserCode>> {
        let mut interrupt = None;
        if self.effects.is_ready_for_a_message() && self.instance.is_some() {
            let (instance, ctx, effects) = self.parts();
            effects.cell.mailbox.set_handling(true);
            let handled = contained(|| {
                if let Some(control) = effects.take_control() {
                    return Interrupt::Control(control);
                }
                if !effects.has_message() {
                    return Interrupt::Nothing;
                }
                let message = effects.take_message();
                match admit(instance, ctx, effects, message) {
                    ControlFlow::Break(interrupt) => interrupt,
                    ControlFlow::Continue(()) => Interrupt::Else,
                }
            });
            interrupt = match handled {
                Ok(Interrupt::Nothing | Interrupt::Else) => None,
                Ok(Interrupt::Back(Ok(Ok(())))) => {
                    self.handled(Ok(Ok(())));
                    None
                }
                Ok(Interrupt::Back(Ok(Err(failure)))) => Some(self.tell_asker(failure)),
                Ok(interrupt) => Some(interrupt),
                Err(payload) => Some(self.tell_asker(Failure::panic(payload))),
            };
        }
        match interrupt {
            Some(interrupt) => self.effects.defer(interrupt),
            None if self.ctx.timers_mut().is_none() && self.effects.has_nothing_to_do() => {
                self.effects.wait();
                return Poll::Pending;
            }
            None => {}
        }
        self.effects.give_way();
        Poll::Pending
    }

    /// The asker of an inline turn learns of a failure at once; what follows from it is left to a worker.
    #[cold]
    fn tell_asker(&mut self, failure: Failure) -> Interrupt<A::Message> {
        if let Some(asker) = self.ctx.take_held() {
            asker.fail(AskError::Failed(failure.clone()));
        }
        Interrupt::Back(Ok(Err(failure)))
    }

    /// Does what comes first: what an inline turn has left, what the protocol wants, then the system lane, then timers, then
    /// the user lane.
    ///
    /// Rules 1.1 and 1.3.
    #[inline]
    fn next_action(&mut self) -> Next {
        if let Some(interrupt) = self.effects.take_deferred() {
            return self.interrupt(Ok(interrupt));
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
        if let Some(next) = self.retry() {
            return next;
        }
        if let Some(message) = self.effects.take_unstashed() {
            return self.admit(message);
        }
        // A busy actor never waits, and its timers are due all the same.
        while let Some(generation) = self.ctx.timers_mut().and_then(ActorTimers::next_due) {
            self.effects.enqueue(Control::Tick(generation));
        }
        self.drain_messages()
    }

    // ---- the user lane -------------------------------------------------------------------------------------------

    /// Rule 6.5.
    #[cold]
    fn control(&mut self, control: Control) -> Next {
        match control {
            Control::Terminated(subject) => self.ended(subject),
            Control::Tick(generation) => self.tick(generation),
            // Somebody's stop, in its turn among the messages.
            Control::PoisonPill => {
                self.ctx.me_any().stop();
                Next::Again
            }
            Control::Kill => self.failed(Failure::killed()),
            Control::Visit(visit) => self.visited(visit),
        }
    }

    /// Handles one message after the other, until something comes up.
    ///
    /// What [`next_action`](Self::next_action) has looked at changes only by what is looked at here: the system lane, and what a handler
    /// leaves behind. So no message pays for the rest. All come from one place: from two, each would be copied piece by piece.
    #[inline]
    fn drain_messages(&mut self) -> Next {
        let (instance, ctx, effects) = self.parts();
        effects.cell.mailbox.set_handling(true);
        let interrupt = contained(|| {
            while effects.handled < THROUGHPUT && !effects.cell.mailbox.system_waits() {
                if let Some(control) = effects.take_control() {
                    return Interrupt::Control(control);
                }
                if !effects.has_message() {
                    return Interrupt::Nothing;
                }
                let message = effects.take_message();
                if let ControlFlow::Break(interrupt) = admit(instance, ctx, effects, message) {
                    return interrupt;
                }
            }
            Interrupt::Else
        });
        self.interrupt(interrupt)
    }

    /// Stashes a message that did not come through the lane, or handles it.
    fn admit(&mut self, message: A::Message) -> Next {
        let (instance, ctx, effects) = self.parts();
        effects.cell.mailbox.set_handling(true);
        let interrupt = contained(|| match admit(instance, ctx, effects, message) {
            ControlFlow::Break(interrupt) => interrupt,
            ControlFlow::Continue(()) => Interrupt::Else,
        });
        self.interrupt(interrupt)
    }

    /// Handles a message that is not asked about again, unless its handler may wait.
    fn handle(&mut self, message: A::Message) -> Next {
        let (instance, ctx, effects) = self.parts();
        let interrupt = contained(|| match handle(instance, ctx, effects, message) {
            ControlFlow::Break(interrupt) => interrupt,
            ControlFlow::Continue(()) => Interrupt::Else,
        });
        self.interrupt(interrupt)
    }

    #[inline]
    fn interrupt(&mut self, what: Result<Interrupt<A::Message>, Payload>) -> Next {
        match what {
            Ok(Interrupt::Else) => Next::Again,
            Ok(Interrupt::Nothing) => Next::Wait,
            Ok(Interrupt::MayWait) => Next::Call(UserCode::Message),
            Ok(Interrupt::Control(control)) => self.control(control),
            Ok(Interrupt::Unwanted(message)) => self.set_aside(message),
            Ok(Interrupt::Back(outcome)) => {
                self.handled(outcome);
                Next::Again
            }
            Err(payload) => {
                self.handled(Err(Broken::Panicked(payload)));
                Next::Again
            }
        }
    }

    #[cold]
    fn set_aside(&mut self, message: A::Message) -> Next {
        let next = match self.effects.stash(message) {
            Ok(()) => Next::Again,
            Err(message) => {
                let failure = Failure::new(StashOverflow { capacity: A::STASH_CAPACITY });
                let why = AskError::Failed(failure.clone());
                let name = A::message_name(&message);
                self.effects.cell.core.lose(name, DeadLetterReason::StashFull, why, message);
                self.failed(failure)
            }
        };
        self.rearm_idle();
        next
    }

    /// The receive timeout counts anew, if the message that was handled says so.
    fn rearm_idle(&mut self) {
        if let Some(timers) = self.ctx.timers_mut() {
            timers.rearm_idle_if_over();
        }
    }

    fn visited(&mut self, visit: Visit) -> Next {
        let (instance, ctx, _) = self.parts();
        let outcome = contained(|| visit.run(instance, ctx));
        self.handled(outcome.map_err(Broken::Panicked));
        Next::Again
    }

    fn ended(&mut self, subject: AnyActorRef) -> Next {
        let news = self.effects.cell.core.protocol().dequeued(&subject);
        match news {
            None => Next::Again,
            Some((WatchKind::DeathPact, _)) => self.failed(Failure::death_pact(subject.path())),
            Some((WatchKind::Notify, how)) => {
                self.effects.put_gone(Terminated::new(subject, how));
                Next::Call(UserCode::Terminated)
            }
            Some((WatchKind::Message, _)) => match self.ctx.take_watch_message(&subject) {
                None => Next::Again,
                Some(message) => self.admit(message),
            },
        }
    }

    fn tick(&mut self, generation: Generation) -> Next {
        let Some(timers) = self.ctx.timers_mut() else { return Next::Again };
        match contained(|| timers.take(generation)) {
            Ok(None) => Next::Again,
            Ok(Some(Fired { message, by_idleness })) => {
                if by_idleness {
                    timers.idle_is_over();
                }
                self.admit(message)
            }
            Err(payload) => {
                // The receive timeout goes on, should the actor be resumed.
                timers.rearm_idle();
                self.failed(Failure::panic(payload))
            }
        }
    }

    /// A failed message comes before those that wait. One that the actor would set aside now lets others go first, and
    /// is asked about again before each of them.
    fn retry(&mut self) -> Option<Next> {
        let aside = self.effects.aside.as_mut()?;
        // If the actor was resumed and not restarted, its message is lost as every failing message is.
        aside.retries.forget();
        let message = aside.retries.due()?;
        let instance = self.instance.as_ref()?;
        // A condition that panics does so again in `admit`, where it is a failure.
        if matches!(contained(|| instance.stash_while(message)), Ok(true)) {
            return None;
        }
        Some(match aside.retries.begin_next(A::duplicate)? {
            Ok(message) => self.handle(message),
            Err(payload) => self.failed(Failure::panic(payload)),
        })
    }

    /// A handler came back.
    #[expect(
        clippy::inline_always,
        reason = "every handler that may wait goes this way; a call costs a tenth of it"
    )]
    #[inline(always)]
    fn handled(&mut self, outcome: UserCodeResult) {
        if matches!(outcome, Ok(Ok(())))
            && !self.effects.parked
            && self.effects.aside.is_none()
            && !self.ctx.has_news()
        {
            return;
        }
        self.finish_message(outcome);
    }

    /// A handler came back: its asker learns of a failure before the parent does. What was set aside may be wanted now.
    fn finish_message(&mut self, outcome: UserCodeResult) {
        self.rearm_idle();
        self.effects.unstash_all();
        let asker = self.ctx.take_held();
        match outcome {
            Ok(Ok(())) => {
                if let Some(asker) = asker {
                    asker.fail(AskError::Stopped);
                }
                if let Some(aside) = &mut self.effects.aside {
                    aside.retries.forget();
                }
                if self.effects.parked {
                    self.step(Input::Returned(Returned::Ok));
                }
            }
            Err(Broken::Aborted) => {
                if let Some(asker) = asker {
                    asker.fail(AskError::Stopped);
                }
                self.message_failed(None);
                self.step(Input::Returned(Returned::Aborted));
            }
            Ok(Err(failure)) => self.failed_for(asker, failure),
            Err(Broken::Panicked(payload)) => self.failed_for(asker, Failure::panic(payload)),
        }
    }

    #[cold]
    fn failed_for(&mut self, asker: Option<Arc<dyn ErasedSlot>>, failure: Failure) {
        if let Some(asker) = asker {
            asker.fail(AskError::Failed(failure.clone()));
        }
        self.message_failed(Some(&failure));
        self.step(Input::Returned(Returned::Err(failure)));
    }

    fn message_failed(&mut self, failure: Option<&Failure>) {
        if let Some(aside) = &mut self.effects.aside {
            aside.retries.failed(failure);
        }
    }

    fn failed(&mut self, failure: Failure) -> Next {
        self.step(Input::Returned(Returned::Err(failure)));
        Next::Again
    }

    // ---- calls the protocol makes --------------------------------------------------------------------------------

    /// Makes the call, as far as it cannot wait.
    fn call(&mut self) -> Next {
        let outcome = match self.effects.call.take() {
            None => return Next::Again,
            Some(Call::Build) => self.build(),
            Some(Call::Declare(at)) => self.declare(at),
            Some(Call::Create) => match self.build_first() {
                Ok(Ok(())) => return Next::Call(UserCode::PreStart),
                failed => return self.built(failed),
            },
            Some(Call::StartNewInstance(cause)) => match self.build() {
                Ok(Ok(())) => {
                    self.effects.call = Some(Call::StartNewInstance(cause));
                    return Next::Call(UserCode::PostRestart);
                }
                failed => return self.built(failed),
            },
            Some(Call::PreRestart { cause, own, aborted }) => {
                self.ctx.cancel_all_timers();
                self.ctx.set_aborted(aborted);
                self.effects.call = Some(Call::PreRestart { cause, own, aborted });
                return Next::Call(UserCode::PreRestart { own });
            }
            Some(Call::PostStop { aborted }) => {
                self.ctx.cancel_all_timers();
                self.ctx.set_aborted(aborted);
                return Next::Call(UserCode::PostStop);
            }
        };
        self.returned(outcome)
    }

    /// A new instance is there, or none.
    ///
    /// Rule 4.7.
    fn built(&mut self, outcome: UserCodeResult) -> Next {
        if matches!(outcome, Ok(Ok(()))) {
            self.effects.unstash_all();
            let spent = self.effects.aside.as_mut().and_then(|aside| aside.retries.restarted(A::STASH_CAPACITY));
            if let Some(retry) = spent {
                self.effects.quarantine(retry);
            }
            if let Some(timers) = self.ctx.timers_mut() {
                timers.rearm_idle();
            }
        }
        self.returned(outcome)
    }

    fn returned(&mut self, outcome: UserCodeResult) -> Next {
        self.step(Input::Returned(match outcome {
            Ok(Ok(())) => Returned::Ok,
            Ok(Err(failure)) => Returned::Err(failure),
            Err(Broken::Panicked(payload)) => Returned::Err(Failure::panic(payload)),
            Err(Broken::Aborted) => Returned::Aborted,
        }));
        Next::Again
    }

    /// A copy of the message that failed, if it is kept for another try.
    fn failed_message(&self) -> Option<A::Message> {
        let message = self.effects.aside.as_ref()?.retries.last_failed()?;
        contained(|| A::duplicate(message)).ok().flatten()
    }

    /// Runs the factory for an actor that has not started yet; what a failed attempt has set is forgotten.
    fn build_first(&mut self) -> UserCodeResult {
        self.ctx.cancel_receive_timeout();
        self.build()
    }

    /// Runs the factory, unless it has run.
    fn build(&mut self) -> UserCodeResult {
        if self.instance.is_some() {
            return Ok(Ok(()));
        }
        match contained(&mut *self.factory) {
            Ok(built) => Ok(built.map(|instance| self.instance = Some(instance))),
            Err(payload) => Err(Broken::Panicked(payload)),
        }
    }

    /// Lets the instance say how the child of a field is made.
    fn declare(&mut self, at: usize) -> UserCodeResult {
        let (instance, _, effects) = self.parts();
        let name = A::CHILDREN[at].name;
        match contained(|| instance.declare_child(name, effects.declaration(at))) {
            Err(payload) => Err(Broken::Panicked(payload)),
            Ok(()) => Ok(effects.declared(at).map_err(Failure::new)),
        }
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
        drop_contained(self.instance.take());
    }
}

/// Handles a message, unless the actor would set it aside.
#[expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it")]
#[inline(always)]
fn admit<A: Actor>(
    instance: &mut A,
    ctx: &mut Context<A>,
    effects: &mut EffectRunner<A>,
    message: A::Message,
) -> ControlFlow<Interrupt<A::Message>> {
    if let Some(timers) = ctx.timers_mut()
        && A::is_activity(&message)
    {
        timers.idle_is_over();
    }
    match contained(|| instance.stash_while(&message)) {
        Ok(false) => {}
        Ok(true) => return ControlFlow::Break(Interrupt::Unwanted(message)),
        Err(payload) => {
            let failure = Failure::panic(payload);
            drop_because(AskError::Failed(failure.clone()), message);
            return ControlFlow::Break(Interrupt::Back(Ok(Err(failure))));
        }
    }
    let may_retry = A::redelivery(&message);
    // A copy that cannot be made is one that is not retried.
    if may_retry > 0
        && let Ok(Some(copy)) = contained(|| A::duplicate(&message))
    {
        effects.aside().retries.begin(copy, may_retry);
    }
    handle(instance, ctx, effects, message)
}

/// Handles a message, unless its handler may wait.
#[expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it")]
#[inline(always)]
fn handle<A: Actor>(
    instance: &mut A,
    ctx: &mut Context<A>,
    effects: &mut EffectRunner<A>,
    message: A::Message,
) -> ControlFlow<Interrupt<A::Message>> {
    effects.handled += 1;
    match instance.handle_now(message, ctx) {
        ControlFlow::Break(Ok(())) if !ctx.has_news() && effects.aside.is_none() => ControlFlow::Continue(()),
        ControlFlow::Break(outcome) => ControlFlow::Break(Interrupt::Back(Ok(outcome))),
        ControlFlow::Continue(message) => {
            effects.put_front(message);
            ControlFlow::Break(Interrupt::MayWait)
        }
    }
}
