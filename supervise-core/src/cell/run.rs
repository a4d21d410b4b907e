//! The cell's own future: what it does next, and how effects are carried out.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use tokio::time::Instant;

use super::user_code::{self, Broken, WhileParked};
use super::{Cell, Effects, System};
use crate::actor::Actor;
use crate::actor_ref::AnyActorRef;
use crate::context::Context;
use crate::dead_letter::DeadLetterReason;
use crate::death_watch::Terminated;
use crate::failure::Failure;
use crate::mailbox::{Control, Entry, Leftovers};
use crate::observe;
use crate::path::ActorPath;
use crate::props::{Factory, Policy, Props};
use crate::request::AskError;
use crate::supervision::{
    Call, ChildId, ChildInfo, Effect, HowEnded, Input, Note, Returned, Ruling, Strategy, Timer, WatchKind,
};
use crate::timers::Timers;
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

/// The part that goes on working while a handler borrows the rest.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, set and read in one place")]
struct Shell<A: Actor> {
    cell: Arc<Cell<A::Message>>,
    me: AnyActorRef,
    system: VecDeque<System>,
    user: VecDeque<Entry<A::Message>>,
    timers: Option<Box<Timers<Timer>>>,
    policy: Option<Box<Policy>>,
    stop_timeout: std::time::Duration,
    /// The call the protocol wants.
    call: Option<Call<Failure>>,
    /// Whether the next user message may be handled; as of the last step.
    accepts: bool,
    /// The protocol wants the parked code to be dropped.
    abort: bool,
    /// The protocol knows that code is parked and waits for its return.
    parked: bool,
    ended: bool,
}

/// What a call into user code came to.
type Outcome = Result<Result<(), Failure>, Broken>;

impl<A: Actor> Runner<A> {
    pub(crate) fn new<C>(cell: Arc<Cell<A::Message>>, props: Props<A, C>) -> Self {
        let me = AnyActorRef(Arc::clone(&cell) as _);
        Self {
            factory: props.factory,
            instance: None,
            ctx: Context::new(Arc::clone(&cell)),
            shell: Shell {
                cell,
                me,
                system: VecDeque::new(),
                user: VecDeque::new(),
                timers: None,
                policy: props.policy,
                stop_timeout: props.stop_timeout,
                call: None,
                accepts: false,
                abort: false,
                parked: false,
                ended: false,
            },
        }
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
                self.shell.cell.mailbox.handled_one();
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
            Entry::Control(Control::Visit(visit)) => {
                let Self { instance: Some(instance), ctx, shell, .. } = self else {
                    unreachable!("messages are accepted only with an instance");
                };
                let outcome = user_code::run(async { visit.run(instance, ctx) }, shell).await;
                self.handled(outcome);
            }
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

    fn failed_for(&mut self, asker: Option<Arc<dyn crate::request::ErasedSlot>>, failure: Failure) {
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

impl<A: Actor> WhileParked for Shell<A> {
    fn parked(&mut self) {
        self.parked = true;
        self.step_while_parked(Input::Parked);
    }

    fn go_on(&mut self, cx: &mut TaskContext<'_>) -> bool {
        loop {
            while let Some(message) = self.next_system() {
                self.step_while_parked(Input::Message(message));
            }
            if let Some(timers) = &mut self.timers
                && let Poll::Ready(timer) = timers.poll_due(cx)
            {
                self.step_while_parked(Input::Due(timer));
                continue;
            }
            if self.cell.mailbox.poll_parked(cx, false).is_pending() {
                return std::mem::take(&mut self.abort);
            }
        }
    }
}

impl<A: Actor> Shell<A> {
    fn next_system(&mut self) -> Option<System> {
        if self.system.is_empty() {
            if !self.cell.mailbox.system_waits() {
                return None;
            }
            self.cell.mailbox.take_system(&mut self.system);
        }
        self.system.pop_front()
    }

    fn next_user(&mut self) -> Option<Entry<A::Message>> {
        if !self.accepts {
            return None;
        }
        if self.user.is_empty() {
            self.cell.mailbox.take_user(&mut self.user);
        }
        self.user.pop_front()
    }

    /// Parks until something comes; a timer that is due is given back.
    async fn wait(&mut self) -> Option<Timer> {
        poll_fn(|cx| {
            if let Some(timers) = &mut self.timers
                && let Poll::Ready(timer) = timers.poll_due(cx)
            {
                return Poll::Ready(Some(timer));
            }
            self.cell.mailbox.poll_parked(cx, self.accepts).map(|()| None)
        })
        .await
    }

    fn step_while_parked(&mut self, input: Input<'_, AnyActorRef, Failure>) {
        self.step(input, &mut || unreachable!("the instance is not dropped while its code is parked"));
    }

    /// One step of the protocol, and of those that answering its decider takes.
    fn step(&mut self, input: Input<'_, AnyActorRef, Failure>, drop_instance: &mut dyn FnMut()) {
        if let Input::Returned(_) = &input {
            self.parked = false;
            self.abort = false;
        }
        let cell = Arc::clone(&self.cell);
        let mut effects = Effects::new();
        let mut next = Some(input);
        // What the decider answers with borrows from here.
        let strategy = self.strategy();
        while let Some(input) = next.take() {
            {
                let mut protocol = cell.core.protocol();
                protocol.step(input, &mut effects);
                self.accepts = protocol.accepts_messages();
            }
            for effect in effects.drain(..) {
                if let Effect::Decide(child, cause) = effect {
                    next = Some(Input::Decided(Ruling {
                        verdict: self.decide(child, &cause),
                        strategy: &strategy,
                        now: cell.core.system.now(),
                        draw: fastrand::f64(),
                    }));
                } else {
                    self.perform(effect, drop_instance);
                }
            }
        }
    }

    fn perform(&mut self, effect: Effect<AnyActorRef, Failure>, drop_instance: &mut dyn FnMut()) {
        match effect {
            Effect::Send(to, message) => to.send_system(message),
            Effect::Watch(subject) => subject.send_system(System::Watch(self.me.clone())),
            Effect::Unwatch(subject) => subject.send_system(System::Unwatch(self.me.clone())),
            Effect::Report(cause) => self.report(cause),
            Effect::Enqueue(subject) => {
                // Only this cell closes its mailbox, so it is open.
                let _open = self.cell.mailbox.push_control(Control::Terminated(subject));
            }
            Effect::Arm(timer, delay) => {
                let at = Instant::now() + delay.unwrap_or(self.stop_timeout);
                self.timers.get_or_insert_with(|| Box::new(Timers::new())).set(timer, at);
            }
            Effect::Disarm(timer) => {
                if let Some(timers) = &mut self.timers {
                    timers.cancel(&timer);
                }
            }
            Effect::AnnounceStop => self.cell.core.announce_stop(),
            Effect::Abort => self.abort = true,
            Effect::DropInstance => drop_instance(),
            Effect::Close => self.close(),
            Effect::TellParent(how) => self.tell_parent(how),
            Effect::TellWatcher(watcher, how) => {
                if self.cell.core.parent.as_ref() != Some(&watcher) {
                    watcher.send_system(System::Ended { subject: self.me.clone(), child: None, how });
                }
            }
            Effect::Note(note) => self.note(note),
            Effect::Call(call) => self.call = Some(call),
            Effect::Decide(..) => unreachable!("answered in `step`"),
        }
    }

    fn report(&self, cause: Failure) {
        let core = &self.cell.core;
        match &core.parent {
            Some(parent) => parent.send_system(System::Failed { child: core.id, cause }),
            None => core.system.root_failed(&self.me, cause),
        }
    }

    fn tell_parent(&self, how: HowEnded) {
        let core = &self.cell.core;
        match &core.parent {
            Some(parent) => {
                parent.send_system(System::Ended { subject: self.me.clone(), child: Some(core.id), how });
            }
            None => core.system.root_ended(),
        }
    }

    fn decide(&self, child: ChildId, cause: &Failure) -> Result<crate::supervision::Directive, Failure> {
        let info = self.cell.core.protocol().child_info(child);
        let (name, restarts) = info.unwrap_or_else(|| (Arc::from(""), 0));
        let info = ChildInfo { name, restarts };
        let decided = contained(|| match &self.policy {
            Some(policy) => (policy.decide)(cause, &info),
            None => A::decide(cause, &info),
        });
        decided.unwrap_or_else(|payload| Err(Failure::panic(payload)))
    }

    fn strategy(&self) -> Strategy {
        self.policy.as_ref().map_or(A::STRATEGY, |policy| policy.strategy)
    }

    fn note(&self, note: Note<Failure>) {
        let core = &self.cell.core;
        observe::note(core, note, |id| self.path_of(id), &self.strategy());
    }

    fn path_of(&self, child: ChildId) -> Option<ActorPath> {
        let (name, _) = self.cell.core.protocol().child_info(child)?;
        self.cell.core.path().child(&name).ok()
    }

    /// Closes both lanes. What is left goes to dead letters, in order.
    fn close(&mut self) {
        let Leftovers { system, user } = self.cell.mailbox.close();
        for message in self.system.drain(..).chain(system) {
            self.me.answer_for_the_dead(message);
        }
        for entry in self.user.drain(..).chain(user) {
            match entry {
                Entry::Message(message) => {
                    self.cell.core.dead_letter(A::message_name(&message), DeadLetterReason::Stopped);
                    drop_quietly(message);
                }
                Entry::Control(Control::Kill) => self.cell.core.dead_letter("Kill", DeadLetterReason::Stopped),
                // Whoever waits for its answer learns that there is none.
                Entry::Control(Control::Visit(visit)) => drop_quietly(visit),
                Entry::Control(Control::Terminated(_) | Control::PoisonPill) => {}
            }
        }
        self.timers = None;
        self.ended = true;
    }
}

/// The runtime goes away under a cell that has not ended: no hooks, but nobody waits for ever (A5).
impl<A: Actor> Drop for Shell<A> {
    fn drop(&mut self) {
        if !self.ended {
            self.close();
        }
    }
}
