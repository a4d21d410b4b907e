//! The cell's own future: what it does next, and the user code it runs.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use super::shell::Shell;
use super::user_code::{self, Broken};
use super::{Cell, Visit};
use crate::actor::Actor;
use crate::actor_ref::AnyActorRef;
use crate::actor_timers::{ActorTimers, Fired, Generation};
use crate::context::Context;
use crate::dead_letter::DeadLetterReason;
use crate::death_watch::Terminated;
use crate::dispatch;
use crate::failure::Failure;
use crate::mailbox::Control;
use crate::props::{Factory, Props};
use crate::request::{AskError, ErasedSlot, drop_because};
use crate::supervision::{Call, Input, Returned, WatchKind};
use crate::unwind::{Payload, UserValue, contained, drop_quietly};
use crate::work::WorkId;

/// How many messages a cell handles in one turn, and how many system messages. Rule 1.9.
pub(super) const THROUGHPUT: u32 = 128;

/// What only the cell's own future touches.
pub(crate) struct Runner<A: Actor> {
    factory: UserValue<Factory<A>>,
    instance: Option<A>,
    ctx: Context<A>,
    shell: Shell<A>,
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

/// Why no further message is handled in a stretch.
pub(super) enum CameUp<M> {
    /// No message is left.
    Nothing,
    Control(Control),
    /// The handler of the message at the front may wait.
    MayWait,
    /// The actor would set this one aside.
    Unwanted(M),
    /// A handler came back and there is something to be settled.
    Back(Outcome),
    Else,
}

/// What a call into user code came to.
pub(super) type Outcome = Result<Result<(), Failure>, Broken>;

impl<A: Actor> Runner<A> {
    pub(crate) fn new<C>(cell: Arc<Cell<A::Message>>, props: Props<A, C>) -> Self {
        let Props { factory, settings, .. } = props;
        let ctx = Context::new(Arc::clone(&cell));
        Self { factory, instance: None, ctx, shell: Shell::new(cell, settings) }
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
                (|$instance:ident, $ctx:ident, $shell:ident| $code:expr) => {{
                    let ($instance, $ctx, $shell) = self.parts();
                    user_code::finish(pin!(Some($code)), $shell).await
                }};
            }

            self.begin();
            while let Some(code) = poll_fn(|cx| self.poll_next(cx)).await {
                match code {
                    UserCode::Message => {
                        let outcome = finish!(|instance, ctx, shell| instance.handle(shell.take_front(), ctx));
                        self.handled(outcome);
                    }
                    UserCode::Terminated => {
                        let outcome = finish!(|instance, ctx, shell| instance.terminated(shell.take_gone(), ctx));
                        self.handled(outcome);
                    }
                    UserCode::PreStart => {
                        let outcome = finish!(|instance, ctx, shell| instance.pre_start(ctx));
                        let _again = self.built(outcome);
                    }
                    UserCode::PostRestart => {
                        let cause = self.shell.take_cause();
                        let outcome = finish!(|instance, ctx, shell| instance.post_restart(ctx, &cause));
                        let _again = self.built(outcome);
                    }
                    UserCode::PreRestart { own } => {
                        let cause = self.shell.take_cause();
                        let message = if own { self.failed_message() } else { None };
                        let outcome = finish!(|instance, ctx, shell| instance.pre_restart(ctx, &cause, message));
                        let _again = self.returned(outcome);
                    }
                    UserCode::PostStop => {
                        let outcome = finish!(|instance, ctx, shell| instance.post_stop(ctx));
                        let _again = self.returned(outcome);
                    }
                }
            }
        }
    }

    fn begin(&mut self) {
        let first = self.shell.cell.core.protocol().begin();
        self.shell.call = Some(first);
    }

    /// The instance, and what goes on while it is borrowed.
    fn parts(&mut self) -> (&mut A, &mut Context<A>, &mut Shell<A>) {
        let Self { instance: Some(instance), ctx, shell, .. } = self else {
            unreachable!("messages are accepted, and hooks called, only with an instance");
        };
        (instance, ctx, shell)
    }

    /// Goes on as long as no user code has to be called that may wait. None: for ever. Pending: the turn has ended.
    fn poll_next(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<UserCode>> {
        if dispatch::is_inline() {
            return self.take_inline_turn();
        }
        loop {
            match self.one() {
                Next::Again => {}
                Next::GiveWay => {
                    self.shell.give_way();
                    return Poll::Pending;
                }
                Next::Wait => match self.shell.poll_wait(&mut self.ctx, cx) {
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
        let mut came_up = None;
        if self.shell.is_ready_for_a_message() && self.instance.is_some() {
            let (instance, ctx, shell) = self.parts();
            shell.cell.mailbox.set_handling(true);
            let handled = contained(|| {
                if let Some(control) = shell.take_control() {
                    return CameUp::Control(control);
                }
                if !shell.has_message() {
                    return CameUp::Nothing;
                }
                let message = shell.take_message();
                match admit(instance, ctx, shell, message) {
                    ControlFlow::Break(came_up) => came_up,
                    ControlFlow::Continue(()) => CameUp::Else,
                }
            });
            came_up = match handled {
                Ok(CameUp::Nothing | CameUp::Else) => None,
                Ok(CameUp::Back(Ok(Ok(())))) => {
                    self.handled(Ok(Ok(())));
                    None
                }
                Ok(CameUp::Back(Ok(Err(failure)))) => Some(self.tell_asker(failure)),
                Ok(interrupt) => Some(interrupt),
                Err(payload) => Some(self.tell_asker(Failure::panic(payload))),
            };
        }
        match came_up {
            Some(came_up) => self.shell.defer(came_up),
            None if self.ctx.timers_mut().is_none() && self.shell.has_nothing_to_do() => {
                self.shell.wait();
                return Poll::Pending;
            }
            None => {}
        }
        self.shell.give_way();
        Poll::Pending
    }

    /// The asker of an inline turn learns of a failure at once; what follows from it is left to a worker.
    #[cold]
    fn tell_asker(&mut self, failure: Failure) -> CameUp<A::Message> {
        if let Some(asker) = self.ctx.take_held() {
            asker.fail(AskError::Failed(failure.clone()));
        }
        CameUp::Back(Ok(Err(failure)))
    }

    /// Does what comes first: what an inline turn has left, what the protocol wants, then the system lane, then timers, then
    /// the user lane.
    ///
    /// Rules 1.1 and 1.3.
    #[inline]
    fn one(&mut self) -> Next {
        if let Some(came_up) = self.shell.take_deferred() {
            return self.came_up(Ok(came_up));
        }
        if self.shell.call.is_some() {
            return self.call();
        }
        if self.shell.supervised >= THROUGHPUT {
            return Next::GiveWay;
        }
        if let Some(message) = self.shell.next_system() {
            self.step(Input::Message(message));
            return Next::Again;
        }
        if let Some(timer) = self.shell.next_due() {
            self.step(Input::Due(timer));
            return Next::Again;
        }
        if !self.shell.accepts {
            return if self.shell.ended { Next::End } else { Next::Wait };
        }
        if self.shell.handled >= THROUGHPUT {
            return Next::GiveWay;
        }
        if let Some(next) = self.retry() {
            return next;
        }
        if let Some(message) = self.shell.take_unstashed() {
            return self.admit(message);
        }
        // A busy actor never waits, and its timers are due all the same.
        while let Some(generation) = self.ctx.timers_mut().and_then(ActorTimers::next_due) {
            self.shell.enqueue(Control::Tick(generation));
        }
        self.stretch()
    }

    // ---- the user lane -------------------------------------------------------------------------------------------

    /// Rule 6.5.
    #[cold]
    fn control(&mut self, control: Control) -> Next {
        match control {
            Control::Terminated(subject) => self.ended(subject),
            Control::Tick(generation) => self.tick(generation),
            Control::Outcome(work) => self.outcome(work),
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
    /// What [`one`](Self::one) has looked at changes only by what is looked at here: the system lane, and what a handler
    /// leaves behind. So no message pays for the rest. All come from one place: from two, each would be copied piece by piece.
    #[inline]
    fn stretch(&mut self) -> Next {
        let (instance, ctx, shell) = self.parts();
        shell.cell.mailbox.set_handling(true);
        let came_up = contained(|| {
            while shell.handled < THROUGHPUT && !shell.cell.mailbox.system_waits() {
                if let Some(control) = shell.take_control() {
                    return CameUp::Control(control);
                }
                if !shell.has_message() {
                    return CameUp::Nothing;
                }
                let message = shell.take_message();
                if let ControlFlow::Break(came_up) = admit(instance, ctx, shell, message) {
                    return came_up;
                }
            }
            CameUp::Else
        });
        self.came_up(came_up)
    }

    /// Stashes a message that did not come through the lane, or handles it.
    fn admit(&mut self, message: A::Message) -> Next {
        let (instance, ctx, shell) = self.parts();
        shell.cell.mailbox.set_handling(true);
        let came_up = contained(|| match admit(instance, ctx, shell, message) {
            ControlFlow::Break(came_up) => came_up,
            ControlFlow::Continue(()) => CameUp::Else,
        });
        self.came_up(came_up)
    }

    /// Handles a message that is not asked about again, unless its handler may wait.
    fn handle(&mut self, message: A::Message) -> Next {
        let (instance, ctx, shell) = self.parts();
        let came_up = contained(|| match handle(instance, ctx, shell, message) {
            ControlFlow::Break(came_up) => came_up,
            ControlFlow::Continue(()) => CameUp::Else,
        });
        self.came_up(came_up)
    }

    #[inline]
    fn came_up(&mut self, what: Result<CameUp<A::Message>, Payload>) -> Next {
        match what {
            Ok(CameUp::Else) => Next::Again,
            Ok(CameUp::Nothing) => Next::Wait,
            Ok(CameUp::MayWait) => Next::Call(UserCode::Message),
            Ok(CameUp::Control(control)) => self.control(control),
            Ok(CameUp::Unwanted(message)) => self.set_aside(message),
            Ok(CameUp::Back(outcome)) => {
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
        let next = match self.shell.stash(message) {
            Ok(()) => Next::Again,
            Err(message) => {
                let failure = Failure::new(StashOverflow { capacity: A::STASH_CAPACITY });
                let why = AskError::Failed(failure.clone());
                let name = A::message_name(&message);
                self.shell.cell.core.lose(name, DeadLetterReason::StashFull, why, message);
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
        let news = self.shell.cell.core.protocol().dequeued(&subject);
        match news {
            None => Next::Again,
            Some((WatchKind::DeathPact, _)) => self.failed(Failure::death_pact(subject.path())),
            Some((WatchKind::Notify, how)) => {
                self.shell.put_gone(Terminated::new(subject, how));
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

    /// Rules 17.2 and 17.3.
    fn outcome(&mut self, work: WorkId) -> Next {
        match self.ctx.take_outcome(work) {
            None => Next::Again,
            Some(Ok(message)) => self.admit(message),
            Some(Err(failure)) => self.failed(failure),
        }
    }

    /// A failed message comes before those that wait. One that the actor would set aside now lets others go first, and
    /// is asked about again before each of them.
    fn retry(&mut self) -> Option<Next> {
        let aside = self.shell.aside.as_mut()?;
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
    fn handled(&mut self, outcome: Outcome) {
        if matches!(outcome, Ok(Ok(())))
            && !self.shell.parked
            && self.shell.aside.is_none()
            && !self.ctx.has_news()
        {
            return;
        }
        self.settle(outcome);
    }

    /// A handler came back: its asker learns of a failure before the parent does. What was set aside may be wanted now.
    fn settle(&mut self, outcome: Outcome) {
        self.rearm_idle();
        self.shell.unstash_all();
        let asker = self.ctx.take_held();
        match outcome {
            Ok(Ok(())) => {
                if let Some(asker) = asker {
                    asker.fail(AskError::Stopped);
                }
                if let Some(aside) = &mut self.shell.aside {
                    aside.retries.forget();
                }
                if self.shell.parked {
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
        if let Some(aside) = &mut self.shell.aside {
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
        let outcome = match self.shell.call.take() {
            None => return Next::Again,
            Some(Call::Build) => self.build(),
            Some(Call::Declare(at)) => self.declare(at),
            Some(Call::Create) => match self.build_first() {
                Ok(Ok(())) => return Next::Call(UserCode::PreStart),
                failed => return self.built(failed),
            },
            Some(Call::Rebuild(cause)) => match self.build() {
                Ok(Ok(())) => {
                    self.shell.call = Some(Call::Rebuild(cause));
                    return Next::Call(UserCode::PostRestart);
                }
                failed => return self.built(failed),
            },
            Some(Call::PreRestart { cause, own, aborted }) => {
                self.ctx.cancel_timers_and_work();
                self.ctx.set_aborted(aborted);
                self.shell.call = Some(Call::PreRestart { cause, own, aborted });
                return Next::Call(UserCode::PreRestart { own });
            }
            Some(Call::PostStop { aborted }) => {
                self.ctx.cancel_timers_and_work();
                self.ctx.set_aborted(aborted);
                return Next::Call(UserCode::PostStop);
            }
        };
        self.returned(outcome)
    }

    /// A new instance is there, or none.
    ///
    /// Rule 4.7.
    fn built(&mut self, outcome: Outcome) -> Next {
        if matches!(outcome, Ok(Ok(()))) {
            self.shell.unstash_all();
            let spent = self.shell.aside.as_mut().and_then(|aside| aside.retries.restarted(A::STASH_CAPACITY));
            if let Some(retry) = spent {
                self.shell.quarantine(retry);
            }
            if let Some(timers) = self.ctx.timers_mut() {
                timers.rearm_idle();
            }
        }
        self.returned(outcome)
    }

    fn returned(&mut self, outcome: Outcome) -> Next {
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
        let message = self.shell.aside.as_ref()?.retries.last_failed()?;
        contained(|| A::duplicate(message)).ok().flatten()
    }

    /// Runs the factory for an actor that has not started yet; what a failed attempt has set is forgotten.
    fn build_first(&mut self) -> Outcome {
        self.ctx.cancel_receive_timeout();
        self.build()
    }

    /// Runs the factory, unless it has run.
    fn build(&mut self) -> Outcome {
        if self.instance.is_some() {
            return Ok(Ok(()));
        }
        match contained(&mut *self.factory) {
            Ok(built) => Ok(built.map(|instance| self.instance = Some(instance))),
            Err(payload) => Err(Broken::Panicked(payload)),
        }
    }

    /// Lets the instance say how the child of a field is made.
    fn declare(&mut self, at: usize) -> Outcome {
        let (instance, _, shell) = self.parts();
        let name = A::CHILDREN[at].name;
        match contained(|| instance.declare_child(name, shell.declaration(at))) {
            Err(payload) => Err(Broken::Panicked(payload)),
            Ok(()) => Ok(shell.declared(at).map_err(Failure::new)),
        }
    }

    fn step(&mut self, input: Input<'_, AnyActorRef, Failure>) {
        let Self { instance, ctx, shell, .. } = self;
        shell.step(input, &mut || {
            ctx.clear();
            drop_quietly(instance.take());
        });
    }
}

/// Called when the runtime goes away. The instance is dropped separately, so that its panic cannot affect another value.
impl<A: Actor> Drop for Runner<A> {
    fn drop(&mut self) {
        drop_quietly(self.instance.take());
    }
}

/// Handles a message, unless the actor would set it aside.
#[expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it")]
#[inline(always)]
fn admit<A: Actor>(
    instance: &mut A,
    ctx: &mut Context<A>,
    shell: &mut Shell<A>,
    message: A::Message,
) -> ControlFlow<CameUp<A::Message>> {
    if let Some(timers) = ctx.timers_mut()
        && A::is_activity(&message)
    {
        timers.idle_is_over();
    }
    match contained(|| instance.stash_while(&message)) {
        Ok(false) => {}
        Ok(true) => return ControlFlow::Break(CameUp::Unwanted(message)),
        Err(payload) => {
            let failure = Failure::panic(payload);
            drop_because(AskError::Failed(failure.clone()), message);
            return ControlFlow::Break(CameUp::Back(Ok(Err(failure))));
        }
    }
    let may_retry = A::redelivery(&message);
    // A copy that cannot be made is one that is not retried.
    if may_retry > 0
        && let Ok(Some(copy)) = contained(|| A::duplicate(&message))
    {
        shell.aside().retries.begin(copy, may_retry);
    }
    handle(instance, ctx, shell, message)
}

/// Handles a message, unless its handler may wait.
#[expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it")]
#[inline(always)]
fn handle<A: Actor>(
    instance: &mut A,
    ctx: &mut Context<A>,
    shell: &mut Shell<A>,
    message: A::Message,
) -> ControlFlow<CameUp<A::Message>> {
    shell.handled += 1;
    match instance.handle_now(message, ctx) {
        ControlFlow::Break(Ok(())) if !ctx.has_news() && shell.aside.is_none() => ControlFlow::Continue(()),
        ControlFlow::Break(outcome) => ControlFlow::Break(CameUp::Back(Ok(outcome))),
        ControlFlow::Continue(message) => {
            shell.put_front(message);
            ControlFlow::Break(CameUp::MayWait)
        }
    }
}
