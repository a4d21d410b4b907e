//! The cell's own future: what it does next, and the user code it runs.

use std::sync::Arc;

use super::shell::Shell;
use super::user_code::{self, Broken};
use super::{Cell, System};
use crate::actor::Actor;
use crate::actor_ref::AnyActorRef;
use crate::context::Context;
use crate::death_watch::Terminated;
use crate::failure::Failure;
use crate::mailbox::{Control, Entry};
use crate::props::{Factory, Props};
use crate::request::{AskError, ErasedSlot};
use crate::supervision::{Call, Input, Returned, WatchKind};
use crate::unwind::{contained, drop_quietly};

/// How many messages a cell handles before it lets other tasks run.
const THROUGHPUT: u32 = 128;

/// What only the cell's own future touches.
pub(crate) struct Runner<A: Actor> {
    factory: Factory<A>,
    instance: Option<A>,
    ctx: Context<A>,
    shell: Shell<A>,
}

/// What a call into user code came to.
type Outcome = Result<Result<(), Failure>, Broken>;

impl<A: Actor> Runner<A> {
    pub(crate) fn new<C>(cell: Arc<Cell<A>>, props: Props<A, C>) -> Self {
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
            } else if let Some(entry) = self.shell.next_user() {
                self.handle(entry).await;
                handled += 1;
                if handled == THROUGHPUT {
                    handled = 0;
                    tokio::task::yield_now().await;
                }
            } else {
                handled = 0;
                if let Some(timer) = self.shell.wait().await {
                    self.step(Input::Due(timer));
                }
            }
        }
    }

    // ---- the user lane -------------------------------------------------------------------------------------------

    async fn handle(&mut self, entry: Entry<A::Message>) {
        match entry {
            Entry::Message(message) => {
                let Self { instance: Some(instance), ctx, shell, .. } = self else {
                    unreachable!("messages are accepted only with an instance");
                };
                let outcome = user_code::run(async { instance.handle(message, ctx).await }, shell).await;
                self.handled(outcome);
            }
            Entry::Control(Control::Terminated(subject)) => {
                let news = self.shell.cell.core.protocol().dequeued(&subject);
                match news {
                    None => {}
                    Some((WatchKind::DeathPact, _)) => self.failed(Failure::death_pact(subject.path())),
                    Some((WatchKind::Notify, how)) => self.terminated(Terminated::new(subject, how)).await,
                    Some((WatchKind::Message, _)) => {
                        if let Some(message) = self.ctx.take_watch_message(&subject) {
                            Box::pin(self.handle(Entry::Message(message))).await;
                        }
                    }
                }
            }
            Entry::Control(Control::PoisonPill) => self.step(Input::Message(System::Terminate)),
            Entry::Control(Control::Kill) => self.failed(Failure::killed()),
        }
    }

    async fn terminated(&mut self, gone: Terminated) {
        let Self { instance: Some(instance), ctx, shell, .. } = self else {
            unreachable!("messages are accepted only with an instance");
        };
        let outcome = user_code::run(async { instance.terminated(gone, ctx).await }, shell).await;
        self.handled(outcome);
    }

    /// A handler came back: its asker learns of a failure before the parent does.
    fn handled(&mut self, outcome: Outcome) {
        let asker = self.ctx.take_held();
        match outcome {
            Ok(Ok(())) => {
                if let Some(asker) = asker {
                    asker.fail(AskError::Stopped);
                }
                if self.shell.parked {
                    self.step(Input::Returned(Returned::Ok));
                }
            }
            Err(Broken::Aborted) => {
                if let Some(asker) = asker {
                    asker.fail(AskError::Stopped);
                }
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
        self.failed(failure);
    }

    fn failed(&mut self, failure: Failure) {
        self.step(Input::Returned(Returned::Err(failure)));
    }

    // ---- calls the protocol makes --------------------------------------------------------------------------------

    async fn call(&mut self, call: Call<Failure>) {
        let outcome = match call {
            Call::Create => match self.build() {
                Err(broken) => broken,
                Ok(()) => self.hook(async |instance, ctx| instance.pre_start(ctx).await).await,
            },
            Call::Rebuild(cause) => match self.build() {
                Err(broken) => broken,
                Ok(()) => self.hook(async |instance, ctx| instance.post_restart(ctx, &cause).await).await,
            },
            Call::PreRestart { cause, own: _ } => {
                self.hook(async |instance, ctx| instance.pre_restart(ctx, &cause, None).await).await
            }
            Call::PostStop { aborted } => {
                self.ctx.set_aborted(aborted);
                self.hook(async |instance, ctx| instance.post_stop(ctx).await).await
            }
        };
        let returned = match outcome {
            Ok(Ok(())) => Returned::Ok,
            Ok(Err(failure)) => Returned::Err(failure),
            Err(Broken::Panicked(payload)) => Returned::Err(Failure::panic(payload)),
            Err(Broken::Aborted) => Returned::Aborted,
        };
        self.step(Input::Returned(returned));
    }

    /// Runs the factory.
    fn build(&mut self) -> Result<(), Outcome> {
        match contained(&mut self.factory) {
            Ok(Ok(instance)) => {
                self.instance = Some(instance);
                Ok(())
            }
            Ok(Err(failure)) => Err(Ok(Err(failure))),
            Err(payload) => Err(Err(Broken::Panicked(payload))),
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
