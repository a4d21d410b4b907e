//! The part of a cell that goes on working while a handler borrows the instance: steps the protocol and carries out
//! its effects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::redelivery::{Retries, Retry};
use super::user_code::WhileParked;
use super::{Cell, Effects, System, with_effects};
use crate::actor::Actor;
use crate::actor_ref::AnyActorRef;
use crate::child::{ChildSlot, Declare, UndeclaredChild};
use crate::context::Context;
use crate::dead_letter::{DeadLetterReason, Lost};
use crate::death_watch::Terminated;
use crate::dispatch;
use crate::failure::Failure;
use crate::mailbox::{Control, Entry, Lane, Leftovers};
use crate::name::ActorName;
use crate::observe;
use crate::path::ActorPath;
use crate::props::{Policy, Settings};
use crate::request::AskError;
use crate::supervision::{
    Call, ChildId, ChildInfo, Directive, Effect, HowEnded, Input, Note, Outcome, Ruling, Strategy, Time, Timer,
};
use crate::timers::{Timers, later};
use crate::unwind::{contained, drop_quietly};

/// The part that goes on working while a handler borrows the rest.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, set and read in one place")]
pub(super) struct Shell<A: Actor> {
    pub(super) cell: Arc<Cell<A::Message>>,
    /// What was taken from the user lane.
    user: Lane<A::Message>,
    /// Whether the lane was looked into in this turn.
    looked: bool,
    /// How many messages were handled in this turn.
    pub(super) handled: usize,
    /// Appears with the first message that is set aside or may be redelivered.
    pub(super) aside: Option<Box<Aside<A::Message>>>,
    timers: Option<Box<Timers>>,
    /// What it was spawned with in place of what its type declares.
    settings: Option<Box<Settings>>,
    /// What the fields have declared, by field. Appears with the first.
    slots: Option<Box<Slots>>,
    /// The call the protocol wants.
    pub(super) call: Option<Call<Failure>>,
    /// The actor is to be told of this next.
    pub(super) gone: Option<Box<Terminated>>,
    /// Whether the next user message may be handled; as of the last step.
    pub(super) accepts: bool,
    /// The protocol wants the parked code to be dropped.
    abort: bool,
    /// The protocol knows that code is parked and waits for its return.
    pub(super) parked: bool,
    pub(super) ended: bool,
}

/// What each field has declared, if it has.
type Slots = Vec<Option<Arc<dyn ChildSlot>>>;

/// Messages that do not take their turn.
pub(super) struct Aside<M> {
    stash: VecDeque<M>,
    /// What was in the stash and is to be asked about again, before what waits.
    unstashed: VecDeque<M>,
    pub(super) retries: Retries<M>,
}

/// What an effect is answered with, at once.
enum Answer {
    Decided(Result<Directive, Failure>),
    /// The parent, about this actor's failure.
    Told(System),
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
                self.step_while_parked(Input::Due(timer.into()));
                continue;
            }
            self.cell.mailbox.set_accepts(false);
            return std::mem::take(&mut self.abort);
        }
    }
}

impl<A: Actor> Shell<A> {
    pub(super) fn new(cell: Arc<Cell<A::Message>>, settings: Option<Box<Settings>>) -> Self {
        Self {
            cell,
            user: Lane::new(),
            looked: false,
            handled: 0,
            aside: None,
            timers: None,
            settings,
            slots: None,
            call: None,
            gone: None,
            accepts: false,
            abort: false,
            parked: false,
            ended: false,
        }
    }

    fn me(&self) -> AnyActorRef {
        AnyActorRef(Arc::clone(&self.cell) as _)
    }

    #[inline]
    pub(super) fn next_system(&mut self) -> Option<System> {
        if self.cell.mailbox.senders_wait() {
            self.cell.mailbox.let_senders_in();
        }
        if self.cell.mailbox.system_waits() { self.cell.mailbox.take_system() } else { None }
    }

    // ---- the user lane -------------------------------------------------------------------------------------------

    /// Takes what waits first, if that is a control. The lane itself is looked into once a turn; what comes later has the
    /// next one.
    #[inline]
    pub(super) fn take_control(&mut self) -> Option<Control> {
        if self.user.is_empty() && !self.looked {
            self.looked = self.cell.mailbox.take_user(&mut self.user);
        }
        self.user.pop_control()
    }

    /// Whether a message waits, once it is known that [no control](Self::take_control) does.
    #[inline]
    pub(super) fn has_message(&self) -> bool {
        self.user.messages() > 0
    }

    /// Takes the [message](Self::has_message) that waits first.
    #[inline]
    pub(super) fn take_message(&mut self) -> A::Message {
        self.cell.mailbox.begin_next(&mut self.user)
    }

    /// Takes the first message that was in the stash and is to be asked about again.
    pub(super) fn take_unstashed(&mut self) -> Option<A::Message> {
        self.aside.as_mut()?.unstashed.pop_front()
    }

    /// Takes the message that was put at the front.
    pub(super) fn take_front(&mut self) -> A::Message {
        self.user.take_first()
    }

    /// Takes the cause that the hook of the call under way is told.
    pub(super) fn take_cause(&mut self) -> Failure {
        match self.call.take() {
            Some(Call::Rebuild(cause) | Call::PreRestart { cause, .. }) => cause,
            _ => unreachable!("put there before"),
        }
    }

    /// Takes the news the actor is to be told.
    pub(super) fn take_gone(&mut self) -> Terminated {
        match self.gone.take() {
            Some(gone) => *gone,
            None => unreachable!("put there before"),
        }
    }

    pub(super) fn put_front(&mut self, message: A::Message) {
        self.user.push_front(message);
    }

    /// The next timer of the protocol that is due already. A busy cell never parks, and its timers are due all the same.
    pub(super) fn next_due(&mut self) -> Option<Timer> {
        self.timers.as_mut()?.next_due().map(Timer::from)
    }

    /// Ends the turn until something comes, unless a timer of the protocol is due.
    pub(super) fn poll_wait(&mut self, ctx: &mut Context<A>, cx: &mut TaskContext<'_>) -> Poll<Timer> {
        while let Some(timers) = ctx.timers_mut()
            && let Poll::Ready(generation) = timers.poll_due(cx)
        {
            self.enqueue(Control::Tick(generation));
        }
        if let Some(timers) = &mut self.timers
            && let Poll::Ready(timer) = timers.poll_due(cx)
        {
            return Poll::Ready(timer.into());
        }
        self.end_turn();
        self.cell.mailbox.set_handling(false);
        self.cell.mailbox.set_accepts(self.accepts);
        Poll::Pending
    }

    /// Ends the turn. The next one comes when the others in the queue have had theirs.
    pub(super) fn give_way(&mut self) {
        self.end_turn();
        let parked = self.cell.mailbox.wake();
        debug_assert!(parked.is_none(), "the runner runs");
    }

    fn end_turn(&mut self) {
        self.looked = false;
        dispatch::charge(std::mem::take(&mut self.handled));
    }

    fn step_while_parked(&mut self, input: Input<'_, AnyActorRef, Failure>) {
        self.step(input, &mut || unreachable!("the instance is not dropped while its code is parked"));
    }

    /// One step of the protocol, and of those that answering its decider takes.
    pub(super) fn step(&mut self, input: Input<'_, AnyActorRef, Failure>, drop_instance: &mut dyn FnMut()) {
        if let Input::Returned(_) = &input {
            self.parked = false;
            self.abort = false;
        }
        with_effects(|effects| {
            self.take_step(input, effects);
            while let Some(answer) = self.perform(effects, drop_instance) {
                match answer {
                    Answer::Told(message) => self.take_step(Input::Message(message), effects),
                    Answer::Decided(verdict) => {
                        let strategy = self.strategy();
                        let now = self.cell.core.system.now();
                        let ruling = Ruling { verdict, strategy: &strategy, now, draw: fastrand::f64() };
                        self.take_step(Input::Decided(ruling), effects);
                    }
                }
            }
        });
    }

    fn take_step(&mut self, input: Input<'_, AnyActorRef, Failure>, effects: &mut Effects) {
        let mut protocol = self.cell.core.protocol();
        protocol.step(input, effects);
        self.accepts = protocol.accepts_messages();
    }

    /// Carries the effects out. Gives the answer to the one that asks.
    fn perform(&mut self, effects: &mut Effects, drop_instance: &mut dyn FnMut()) -> Option<Answer> {
        let mut answer = None;
        for effect in effects.drain(..) {
            match effect {
                Effect::Decide(child, cause) => answer = Some(Answer::Decided(self.decide(child, &cause))),
                Effect::Renew(_) => answer = Some(Answer::Decided(Ok(Directive::Restart))),
                Effect::Report(cause) => answer = self.report(cause).map(Answer::Told),
                Effect::Send(to, message) => to.send_system(message),
                Effect::Watch(subject) => subject.send_system(System::Watch(self.me())),
                Effect::Unwatch(subject) => subject.send_system(System::Unwatch(self.me())),
                Effect::Enqueue(subject) => {
                    self.enqueue(Control::Terminated(subject));
                }
                Effect::Arm(timer, delay) => {
                    let at = later(Instant::now(), delay.unwrap_or_else(|| self.stop_timeout()));
                    self.timers.get_or_insert_with(|| Box::new(Timers::new())).set(timer.into(), at);
                }
                Effect::Disarm(timer) => {
                    if let Some(timers) = &mut self.timers {
                        timers.cancel(timer.into());
                    }
                }
                Effect::AnnounceStop => self.cell.core.announce_stop(),
                Effect::Abort => self.abort = true,
                Effect::DropInstance => drop_instance(),
                Effect::Close => self.close(),
                Effect::TellStarted => self.tell_of_field(System::Started),
                Effect::TellHalted => self.tell_of_field(System::Halted),
                Effect::StartChild(at) => self.start_child(at),
                Effect::TellParent(how) => self.tell_parent(how),
                Effect::TellWatcher(watcher, how) => {
                    if self.cell.core.parent.as_ref() != Some(&watcher) {
                        watcher.send_system(System::Ended { subject: self.me(), child: None, how });
                    }
                }
                Effect::Note(note) => self.note(note),
                Effect::Call(call) => self.call = Some(call),
            }
        }
        answer
    }

    /// Puts something at the tail of the own user lane.
    pub(super) fn enqueue(&self, control: Control) {
        // Only this cell closes its mailbox, so it is open.
        let _open = self.cell.mailbox.push_control(control);
    }

    /// Reports a failure. Gives what the parent says to it, if that is known at once.
    fn report(&self, cause: Failure) -> Option<System> {
        let core = &self.cell.core;
        let Some(parent) = &core.parent else {
            core.system.root_failed(&self.me(), cause);
            return None;
        };
        match self.decide_here(parent, &cause) {
            // Behind what the parent has said before.
            Some(message) if self.cell.mailbox.system_waits() => {
                self.me().send_system(message);
                None
            }
            Some(message) => Some(message),
            None => {
                parent.send_system(System::Failed { child: core.id, cause });
                None
            }
        }
    }

    /// Decides a failure of this actor in place of its idle parent, by the parent's compiled table and in its own state, so
    /// that neither has to wait for a turn. Gives what the parent would send to this actor. None where the parent has to do it.
    fn decide_here(&self, parent: &AnyActorRef, cause: &Failure) -> Option<System> {
        let (core, above) = (&self.cell.core, parent.core());
        let (strategy, decide) = above.kind().compiled()?;
        if !strategy.is_plain() || parent.0.system_waits() {
            return None;
        }
        let restarts = above.protocol().restarts_if_idle(core.id)?;
        let info = ChildInfo { name: core.name.clone(), restarts };
        // Where the table itself fails, the parent asks it again and fails with it.
        let Ok(Ok(directive)) = contained(|| decide(cause, &info)) else { return None };
        // Without a limit nobody looks at the clock.
        let now = if strategy.limit.is_unlimited() { Time::ZERO } else { core.system.now() };
        let (message, outcome) = above.protocol().decide_if_idle(core.id, cause, &directive, strategy, now)?;
        if observe::is_heard(&core.system) {
            let note =
                Note::Decided { child: core.id, cause: cause.clone(), directive: Box::new(directive), outcome };
            observe::note(above, note, |_| Some(core.path()), strategy);
        }
        Some(message)
    }

    fn tell_parent(&self, how: HowEnded) {
        let core = &self.cell.core;
        match &core.parent {
            Some(parent) => {
                parent.send_system(System::Ended { subject: self.me(), child: Some(core.id), how });
            }
            None => core.system.root_ended(),
        }
    }

    fn tell_of_field(&self, message: fn(ChildId) -> System) {
        if let Some(parent) = &self.cell.core.parent {
            parent.send_system(message(self.cell.core.id));
        }
    }

    // ---- declared children ---------------------------------------------------------------------------------------

    /// What a new instance needs to declare a field.
    pub(super) fn declaration(&mut self, at: usize) -> Declare<'_, A> {
        let survivor = self.cell.core.protocol().child_of_field(at).cloned();
        let slots = self.slots.get_or_insert_with(|| Box::new(A::CHILDREN.iter().map(|_| None).collect()));
        Declare::new(slots.get_mut(at), survivor)
    }

    /// Whether a new instance has declared a field.
    pub(super) fn declared(&self, at: usize) -> Result<(), UndeclaredChild> {
        match self.slot(at) {
            Some(_) => Ok(()),
            None => Err(UndeclaredChild { name: A::CHILDREN.get(at).map_or("", |spec| spec.name) }),
        }
    }

    fn slot(&self, at: usize) -> Option<&Arc<dyn ChildSlot>> {
        self.slots.as_ref()?.get(at)?.as_ref()
    }

    fn start_child(&self, at: usize) {
        if let (Some(slot), Some(spec)) = (self.slot(at), A::CHILDREN.get(at)) {
            Arc::clone(slot).start(&self.me(), at, spec);
        }
    }

    fn decide(&self, child: ChildId, cause: &Failure) -> Result<Directive, Failure> {
        let info = self.cell.core.protocol().child_info(child);
        let (name, restarts) = info.unwrap_or_else(|| (ActorName::from(""), 0));
        let info = ChildInfo { name, restarts };
        let decided = contained(|| match self.policy() {
            Some(policy) => (policy.decide)(cause, &info),
            None => A::decide(cause, &info),
        });
        decided.unwrap_or_else(|payload| Err(Failure::panic(payload)))
    }

    fn strategy(&self) -> Strategy {
        self.policy().map_or(A::STRATEGY, |policy| policy.strategy)
    }

    fn policy(&self) -> Option<&Policy> {
        self.settings.as_ref()?.policy.as_ref()
    }

    fn stop_timeout(&self) -> Duration {
        self.settings.as_ref().and_then(|settings| settings.stop_timeout).unwrap_or(A::STOP_TIMEOUT)
    }

    fn note(&self, note: Note<Failure>) {
        let core = &self.cell.core;
        if let Note::Decided { child, cause, outcome: Outcome::Escalated, .. } = &note {
            cause.escalated(|| self.path_of(*child).unwrap_or_else(|| core.path()));
        }
        if !observe::is_heard(&core.system) {
            return;
        }
        observe::note(core, note, |id| self.path_of(id), &self.strategy());
    }

    fn path_of(&self, child: ChildId) -> Option<ActorPath> {
        let (name, _) = self.cell.core.protocol().child_info(child)?;
        self.cell.core.path().child(&name).ok()
    }

    // ---- the stash -----------------------------------------------------------------------------------------------

    /// Where messages wait that do not take their turn.
    pub(super) fn aside(&mut self) -> &mut Aside<A::Message> {
        self.aside.get_or_insert_with(|| {
            Box::new(Aside { stash: VecDeque::new(), unstashed: VecDeque::new(), retries: Retries::new() })
        })
    }

    /// Sets a message aside. Gives it back if the stash is full.
    ///
    /// Rule 15.3.
    pub(super) fn stash(&mut self, message: A::Message) -> Result<(), A::Message> {
        let stash = &mut self.aside().stash;
        if stash.len() >= A::STASH_CAPACITY {
            return Err(message);
        }
        stash.push_back(message);
        Ok(())
    }

    /// Puts what was set aside before what waits, in its order.
    #[inline]
    pub(super) fn unstash_all(&mut self) {
        if let Some(aside) = &mut self.aside {
            while let Some(message) = aside.stash.pop_back() {
                aside.unstashed.push_front(message);
            }
        }
    }

    // ---- redelivery ----------------------------------------------------------------------------------------------

    pub(super) fn quarantine(&self, retry: Retry<A::Message>) {
        let Retry { message, history, deliveries, .. } = retry;
        let name = A::message_name(&message);
        drop_quietly(message);
        let reason = DeadLetterReason::Quarantined;
        self.cell.core.lost(Lost { message: name, reason, failures: history, deliveries, answered: false });
    }

    /// Closes both lanes. What is left goes to dead letters, in order.
    fn close(&mut self) {
        self.unstash_all();
        let Leftovers { mut system, mut user } = self.cell.mailbox.close();
        while let Some(message) = system.pop() {
            self.me().answer_for_the_dead(message);
        }
        if let Some(mut aside) = self.aside.take() {
            for retry in aside.retries.close() {
                self.quarantine(retry);
            }
            for message in aside.unstashed {
                self.reaches_nobody(Entry::Message(message));
            }
        }
        while let Some(entry) = self.user.pop().or_else(|| user.pop()) {
            self.reaches_nobody(entry);
        }
        self.timers = None;
        self.ended = true;
    }

    #[cold]
    fn reaches_nobody(&self, entry: Entry<A::Message>) {
        match entry {
            Entry::Message(message) => {
                let name = A::message_name(&message);
                self.cell.core.lose(name, DeadLetterReason::Stopped, AskError::Stopped, message);
            }
            Entry::Control(Control::Kill) => self.cell.core.dead_letter("Kill", DeadLetterReason::Stopped),
            // Whoever waits for its answer learns that there is none.
            Entry::Control(Control::Visit(visit)) => drop_quietly(visit),
            Entry::Control(Control::Terminated(_) | Control::PoisonPill | Control::Tick(_)) => {}
        }
    }
}

/// The runtime goes away under a cell that has not ended, or its own code panicked: no hooks, but nobody waits for ever
/// (rule 6.6).
impl<A: Actor> Drop for Shell<A> {
    fn drop(&mut self) {
        if !self.ended {
            self.close();
            // Parents and children hold each other until the children have ended.
            let forgotten = self.cell.core.protocol().abandon();
            if std::thread::panicking() {
                super::broke(&self.me(), &forgotten);
            } else {
                super::gone_with_its_runtime(&self.me(), &forgotten);
            }
            drop_quietly(forgotten);
        }
    }
}
