//! The cell's own future: what it does next, and the user code it runs.

use std::sync::Arc;

use super::shell::Shell;
use super::user_code::{self, Broken};
use super::{Cell, System, Visit};
use crate::actor::Actor;
use crate::actor_ref::AnyActorRef;
use crate::actor_timers::{ActorTimers, Fired, Generation};
use crate::context::Context;
use crate::dead_letter::DeadLetterReason;
use crate::death_watch::Terminated;
use crate::dispatch;
use crate::failure::Failure;
use crate::mailbox::{Control, Entry};
use crate::props::{Factory, Props};
use crate::request::{AskError, ErasedSlot};
use crate::supervision::{Call, Input, Returned, WatchKind};
use crate::unwind::{contained, drop_quietly};

/// How many messages a cell handles in one turn.
const THROUGHPUT: usize = 128;

/// What only the cell's own future touches.
pub(crate) struct Runner<A: Actor> {
    factory: Factory<A>,
    instance: Option<A>,
    ctx: Context<A>,
    shell: Shell<A>,
}

/// Whether a message starts the receive timeout anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// As its handler says.
    OfMessage,
    /// It is the timeout's own.
    Always,
}

/// A message was to be set aside and the stash was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stash is full: it holds {capacity} messages")]
pub struct StashOverflow {
    /// How many it holds.
    pub capacity: usize,
}

/// What a call into user code came to.
type Outcome = Result<Result<(), Failure>, Broken>;

impl<A: Actor> Runner<A> {
    pub(crate) fn new<C>(cell: Arc<Cell<A::Message>>, props: Props<A, C>) -> Self {
        let Props { factory, stop_timeout, policy, .. } = props;
        let ctx = Context::new(Arc::clone(&cell));
        Self { factory, instance: None, ctx, shell: Shell::new(cell, stop_timeout, policy) }
    }

    pub(crate) async fn run(mut self) {
        self.step(Input::Begin);
        let mut handled = 0;
        while !self.shell.ended {
            if let Some(call) = self.shell.call.take() {
                self.call(call).await;
            } else if let Some(message) = self.shell.next_system() {
                self.step(Input::Message(message));
            } else if let Some(timer) = self.shell.next_due() {
                self.step(Input::Due(timer));
            } else if self.take_message().await {
                handled += 1;
                if handled == THROUGHPUT {
                    handled = 0;
                    dispatch::charge(THROUGHPUT);
                    self.shell.give_way().await;
                }
            } else {
                dispatch::charge(std::mem::take(&mut handled));
                if let Some(timer) = self.shell.wait(&mut self.ctx).await {
                    self.step(Input::Due(timer));
                }
            }
        }
    }

    // ---- the user lane -------------------------------------------------------------------------------------------

    /// Handles the next user message, if there is one and it may be handled.
    async fn take_message(&mut self) -> bool {
        if self.retry_first() {
            self.try_again().await;
            return true;
        }
        // A busy actor never waits, and its timers are due all the same.
        while let Some(generation) = self.ctx.timers_mut().and_then(ActorTimers::next_due) {
            self.shell.enqueue(Control::Tick(generation));
        }
        let Some(entry) = self.shell.next_user() else { return false };
        match entry {
            Entry::Message(message) => self.dispatch(message, Activity::OfMessage).await,
            Entry::Control(Control::Terminated(subject)) => self.ended(subject).await,
            Entry::Control(Control::Tick(generation)) => self.tick(generation).await,
            Entry::Control(Control::PoisonPill) => self.step(Input::Message(System::Terminate)),
            Entry::Control(Control::Kill) => self.failed(Failure::killed()),
            Entry::Control(Control::Visit(visit)) => self.visited(visit).await,
        }
        true
    }

    /// Stashes a message or handles it.
    async fn dispatch(&mut self, message: A::Message, activity: Activity) {
        let activity = activity == Activity::Always || A::is_activity(&message);
        let Some(instance) = &self.instance else {
            unreachable!("messages are accepted only with an instance");
        };
        match contained(|| instance.stash_while(&message)) {
            Ok(false) => {
                let may_retry = A::redelivery(&message);
                if may_retry > 0 {
                    self.keep_copy(&message, may_retry);
                }
                self.handle(message).await;
            }
            Ok(true) => {
                if let Err(message) = self.shell.stash(message) {
                    self.shell.cell.core.dead_letter(A::message_name(&message), DeadLetterReason::StashFull);
                    drop_quietly(message);
                    self.failed(Failure::new(StashOverflow { capacity: A::STASH_CAPACITY }));
                }
            }
            Err(payload) => {
                drop_quietly(message);
                self.failed(Failure::panic(payload));
            }
        }
        if activity && let Some(timers) = self.ctx.timers_mut() {
            timers.rearm_idle();
        }
    }

    async fn handle(&mut self, message: A::Message) {
        let Self { instance: Some(instance), ctx, shell, .. } = self else {
            unreachable!("messages are accepted only with an instance");
        };
        let outcome = user_code::run(async { instance.handle(message, ctx).await }, shell).await;
        self.handled(outcome);
    }

    async fn visited(&mut self, visit: Visit) {
        let Self { instance: Some(instance), ctx, shell, .. } = self else {
            unreachable!("messages are accepted only with an instance");
        };
        let outcome = user_code::run(async { visit.run(instance, ctx) }, shell).await;
        self.handled(outcome);
    }

    async fn ended(&mut self, subject: AnyActorRef) {
        let news = self.shell.cell.core.protocol().dequeued(&subject);
        match news {
            None => {}
            Some((WatchKind::DeathPact, _)) => self.failed(Failure::death_pact(subject.path())),
            Some((WatchKind::Notify, how)) => self.terminated(Terminated::new(subject, how)).await,
            Some((WatchKind::Message, _)) => {
                if let Some(message) = self.ctx.take_watch_message(&subject) {
                    self.dispatch(message, Activity::OfMessage).await;
                }
            }
        }
    }

    async fn tick(&mut self, generation: Generation) {
        let Some(timers) = self.ctx.timers_mut() else { return };
        match contained(|| timers.take(generation)) {
            Ok(None) => {}
            Ok(Some(Fired { message, by_idleness: true })) => self.dispatch(message, Activity::Always).await,
            Ok(Some(Fired { message, by_idleness: false })) => self.dispatch(message, Activity::OfMessage).await,
            Err(payload) => {
                // The receive timeout goes on, should the actor be resumed.
                timers.rearm_idle();
                self.failed(Failure::panic(payload));
            }
        }
    }

    // ---- redelivery ----------------------------------------------------------------------------------------------

    fn keep_copy(&mut self, message: &A::Message, may_retry: u32) {
        // A copy that cannot be made is one that is not retried.
        if let Ok(Some(copy)) = contained(|| A::duplicate(message)) {
            self.shell.retries.begin(copy, may_retry);
        }
    }

    /// Whether a failed message comes before those that wait. One that the actor would set aside now lets others go
    /// first, and is asked about again before each of them.
    fn retry_first(&mut self) -> bool {
        let Self { instance: Some(instance), shell, .. } = self else { return false };
        let Some(message) = shell.due_retry() else { return false };
        // A condition that panics does so again in `try_again`, where it is a failure.
        !matches!(contained(|| instance.stash_while(message)), Ok(true))
    }

    async fn try_again(&mut self) {
        let Some(copy) = self.shell.retries.begin_next(A::duplicate) else { return };
        match copy {
            Ok(message) => self.handle(message).await,
            Err(payload) => self.failed(Failure::panic(payload)),
        }
    }

    async fn terminated(&mut self, gone: Terminated) {
        let Self { instance: Some(instance), ctx, shell, .. } = self else {
            unreachable!("messages are accepted only with an instance");
        };
        let outcome = user_code::run(async { instance.terminated(gone, ctx).await }, shell).await;
        self.handled(outcome);
    }

    /// A handler came back: its asker learns of a failure before the parent does. What was set aside may be wanted now.
    fn handled(&mut self, outcome: Outcome) {
        self.shell.unstash_all();
        let asker = self.ctx.take_held();
        match outcome {
            Ok(Ok(())) => {
                if let Some(asker) = asker {
                    asker.fail(AskError::Stopped);
                }
                self.shell.retries.forget();
                if self.shell.parked {
                    self.step(Input::Returned(Returned::Ok));
                }
            }
            Err(Broken::Aborted) => {
                if let Some(asker) = asker {
                    asker.fail(AskError::Stopped);
                }
                self.shell.retries.failed(None);
                self.step(Input::Returned(Returned::Aborted));
            }
            Ok(Err(failure)) => self.failed_for(asker, failure),
            Err(Broken::Panicked(payload)) => self.failed_for(asker, Failure::panic(payload)),
        }
    }

    fn failed_for(&mut self, asker: Option<Arc<dyn ErasedSlot>>, failure: Failure) {
        if let Some(asker) = asker {
            asker.fail(AskError::Failed(failure.clone()));
        }
        self.shell.retries.failed(Some(&failure));
        self.failed(failure);
    }

    fn failed(&mut self, failure: Failure) {
        self.step(Input::Returned(Returned::Err(failure)));
    }

    // ---- calls the protocol makes --------------------------------------------------------------------------------

    async fn call(&mut self, call: Call<Failure>) {
        let building = matches!(call, Call::Create | Call::Rebuild(_));
        let outcome = match call {
            Call::Build => self.build().err().unwrap_or(Ok(Ok(()))),
            Call::Declare(at) => self.declare(at),
            Call::Create => match self.build_first() {
                Err(broken) => broken,
                Ok(()) => self.hook(async |instance, ctx| instance.pre_start(ctx).await).await,
            },
            Call::Rebuild(cause) => match self.build() {
                Err(broken) => broken,
                Ok(()) => self.hook(async |instance, ctx| instance.post_restart(ctx, &cause).await).await,
            },
            Call::PreRestart { cause, own } => {
                self.ctx.cancel_all_timers();
                let message = if own { self.failed_message() } else { None };
                self.hook(async |instance, ctx| instance.pre_restart(ctx, &cause, message).await).await
            }
            Call::PostStop { aborted } => {
                self.ctx.cancel_all_timers();
                self.ctx.set_aborted(aborted);
                self.hook(async |instance, ctx| instance.post_stop(ctx).await).await
            }
        };
        if building && matches!(outcome, Ok(Ok(()))) {
            self.shell.unstash_all();
            if let Some(retry) = self.shell.retries.restarted() {
                self.shell.quarantine(retry);
            }
            if let Some(timers) = self.ctx.timers_mut() {
                timers.rearm_idle();
            }
        }
        let returned = match outcome {
            Ok(Ok(())) => Returned::Ok,
            Ok(Err(failure)) => Returned::Err(failure),
            Err(Broken::Panicked(payload)) => Returned::Err(Failure::panic(payload)),
            Err(Broken::Aborted) => Returned::Aborted,
        };
        self.step(Input::Returned(returned));
    }

    /// A copy of the message that failed, if it is kept for another try.
    fn failed_message(&self) -> Option<A::Message> {
        let message = self.shell.retries.last_failed()?;
        contained(|| A::duplicate(message)).ok().flatten()
    }

    /// Runs the factory for an actor that has not started yet; what a failed attempt has set is forgotten.
    fn build_first(&mut self) -> Result<(), Outcome> {
        self.ctx.cancel_receive_timeout();
        self.build()
    }

    /// Runs the factory, unless it has run.
    fn build(&mut self) -> Result<(), Outcome> {
        if self.instance.is_some() {
            return Ok(());
        }
        match contained(&mut self.factory) {
            Ok(Ok(instance)) => {
                self.instance = Some(instance);
                Ok(())
            }
            Ok(Err(failure)) => Err(Ok(Err(failure))),
            Err(payload) => Err(Err(Broken::Panicked(payload))),
        }
    }

    /// Lets the instance say how the child of a field is made.
    fn declare(&mut self, at: usize) -> Outcome {
        let Self { instance: Some(instance), shell, .. } = self else {
            unreachable!("fields are declared by an instance");
        };
        let name = A::CHILDREN[at].name;
        match contained(|| instance.declare_child(name, shell.declaration(at))) {
            Err(payload) => Err(Broken::Panicked(payload)),
            Ok(()) => Ok(shell.declared(at).map_err(Failure::new)),
        }
    }

    async fn hook(&mut self, hook: impl AsyncFnOnce(&mut A, &mut Context<A>) -> Result<(), Failure>) -> Outcome {
        let Self { instance: Some(instance), ctx, shell, .. } = self else {
            unreachable!("hooks are called only on an instance");
        };
        user_code::run(hook(instance, ctx), shell).await
    }

    fn step(&mut self, input: Input<'_, AnyActorRef, Failure>) {
        let Self { instance, ctx, shell, .. } = self;
        shell.step(input, &mut || {
            ctx.clear();
            drop_quietly(instance.take());
        });
    }
}
