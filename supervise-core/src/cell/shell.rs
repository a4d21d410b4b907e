//! The part of a cell that goes on working while a handler borrows the instance: steps the protocol and carries out
//! its effects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::redelivery::{Retries, Retry};
use super::run::{CameUp, THROUGHPUT};
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
use crate::mailbox::{Control, Entry, Lane};
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
    pub(super) handled: u32,
    /// How many system messages were handled in this turn.
    pub(super) supervised: u32,
    /// Appears with the first message that is set aside or may be redelivered.
    pub(super) aside: Option<Box<Aside<A::Message>>>,
    timers: Option<Box<Timers>>,
    /// What few actors need, and no message looks at. Appears with the first of it.
    rare: Option<Box<Rare<A::Message>>>,
    /// The call the protocol wants.
    pub(super) call: Option<Call<Failure>>,
    /// Whether the next user message may be handled; as of the last step.
    pub(super) accepts: bool,
    /// The protocol wants the parked code to be dropped.
    abort: bool,
    /// The protocol knows that code is parked and waits for its return.
    pub(super) parked: bool,
    pub(super) ended: bool,
}

/// See [`Shell::rare`].
struct Rare<M> {
    /// The settings given at the spawn, which replace those that the actor type declares.
    settings: Option<Box<Settings>>,
    /// What each field has declared, if it has.
    slots: Vec<Option<Arc<dyn ChildSlot>>>,
    /// What an inline turn has left to a worker.
    deferred: Option<CameUp<M>>,
    /// The actor is to be told of this next.
    gone: Option<Terminated>,
}

impl<M> Rare<M> {
    fn new(settings: Option<Box<Settings>>) -> Self {
        Self { settings, slots: Vec::new(), deferred: None, gone: None }
    }
}

/// What the protocol asks the supervisor, and goes on with when it is answered.
enum Question {
    /// What to do about the failure of a child.
    Decide(ChildId, Failure),
    /// The same for the end of a permanent child, which is always a restart.
    Renew,
}

/// Messages that do not take their turn.
pub(super) struct Aside<M> {
    stash: VecDeque<M>,
    /// What was in the stash and is to be asked about again, before what waits.
    unstashed: VecDeque<M>,
    pub(super) retries: Retries<M>,
}

impl<A: Actor> WhileParked for Shell<A> {
    fn parked(&mut self) {
        self.parked = true;
        self.step_while_parked(Input::Parked);
    }

    fn is_parked(&self) -> bool {
        self.parked
    }

    fn go_on(&mut self, cx: &mut TaskContext<'_>) -> bool {
        self.cell.mailbox.set_accepts(false);
        loop {
            if self.supervised >= THROUGHPUT {
                // The rest has its turn when others have had theirs.
                self.give_way();
                break;
            }
            if let Some(message) = self.next_system() {
                self.step_while_parked(Input::Message(message));
            } else if let Some(timers) = &mut self.timers
                && let Poll::Ready(timer) = timers.poll_due(cx)
            {
                self.step_while_parked(Input::Due(timer.into()));
            } else {
                dispatch::charge(std::mem::take(&mut self.supervised));
                break;
            }
        }
        std::mem::take(&mut self.abort)
    }
}

impl<A: Actor> Shell<A> {
    pub(super) fn new(cell: Arc<Cell<A::Message>>, settings: Option<Box<Settings>>) -> Self {
        Self {
            cell,
            user: Lane::new(),
            looked: false,
            handled: 0,
            supervised: 0,
            aside: None,
            timers: None,
            rare: settings.map(|settings| Box::new(Rare::new(Some(settings)))),
            call: None,
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
        if !self.cell.mailbox.system_waits() {
            return None;
        }
        self.supervised += 1;
        self.cell.mailbox.take_system()
    }

    // ---- the user lane -------------------------------------------------------------------------------------------

    /// Takes what waits first, if that is a control. The lane itself is looked into once a turn; what comes later has the
    /// next one.
    #[expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it")]
    #[inline(always)]
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

    fn rare(&mut self) -> &mut Rare<A::Message> {
        self.rare.get_or_insert_with(|| Box::new(Rare::new(None)))
    }

    /// The actor is to be told of this next.
    pub(super) fn put_gone(&mut self, gone: Terminated) {
        self.rare().gone = Some(gone);
    }

    /// Takes the news the actor is to be told.
    pub(super) fn take_gone(&mut self) -> Terminated {
        match self.rare().gone.take() {
            Some(gone) => gone,
            None => unreachable!("put there before"),
        }
    }

    /// Leaves what came up in an inline turn to a worker.
    pub(super) fn defer(&mut self, came_up: CameUp<A::Message>) {
        self.rare().deferred = Some(came_up);
    }

    /// Takes what an inline turn has left to a worker.
    #[inline]
    pub(super) fn take_deferred(&mut self) -> Option<CameUp<A::Message>> {
        self.rare.as_mut()?.deferred.take()
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
        self.wait();
        Poll::Pending
    }

    /// Ends the turn until something comes.
    pub(super) fn wait(&mut self) {
        self.end_turn();
        self.cell.mailbox.set_handling(false);
        self.cell.mailbox.set_accepts(self.accepts);
    }

    /// Whether the next thing to do is to handle a message, if there is one.
    pub(super) fn is_ready_for_a_message(&self) -> bool {
        self.accepts && self.call.is_none() && self.aside.is_none() && self.has_nothing_to_do()
    }

    /// Whether nothing has been taken that is not done, and no system message and no timer of the protocol waits.
    pub(super) fn has_nothing_to_do(&self) -> bool {
        self.user.is_empty() && self.timers.is_none() && !self.cell.mailbox.system_waits()
    }

    /// Ends the turn. The next one comes when the others in the queue have had theirs.
    pub(super) fn give_way(&mut self) {
        self.end_turn();
        let parked = self.cell.mailbox.wake();
        debug_assert!(parked.is_none(), "the runner runs");
    }

    fn end_turn(&mut self) {
        self.looked = false;
        dispatch::charge(std::mem::take(&mut self.handled) + std::mem::take(&mut self.supervised));
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
            self.accepts = self.cell.core.step(input, effects);
            while let Some(question) = self.perform(effects, drop_instance) {
                self.answer(question, effects);
            }
        });
    }

    /// The step that answers what the protocol asked.
    #[cold]
    fn answer(&mut self, question: Question, effects: &mut Effects) {
        let (verdict, strategy) = match question {
            Question::Decide(child, cause) => self.decide(child, &cause),
            Question::Renew => (Ok(Directive::Restart), self.strategy()),
        };
        let system = &self.cell.core.system;
        // Only a delay needs a random number, and only a delay or a limit needs the time.
        let delays = strategy.backoff.is_some() || matches!(verdict, Ok(Directive::RestartAfter(_)));
        let now = if delays || !strategy.limit.is_unlimited() { system.now() } else { Time::ZERO };
        let draw = if delays { fastrand::f64() } else { 0.0 };
        let ruling = Ruling { verdict, strategy: &strategy, now, draw, heard: observe::is_heard(system) };
        self.accepts = self.cell.core.step(Input::Decided(ruling), effects);
    }

    /// Carries the effects out. Gives what the protocol asks, which is the last of them.
    fn perform(&mut self, effects: &mut Effects, drop_instance: &mut dyn FnMut()) -> Option<Question> {
        let mut question = None;
        for effect in effects.drain(..) {
            match effect {
                Effect::Decide(child, cause) => question = Some(Question::Decide(child, cause)),
                Effect::Renew(_) => question = Some(Question::Renew),
                Effect::Report { cause, restarts } => self.report(cause, restarts),
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
                Effect::CloseUserLane => self.close_user_lane(),
                Effect::CloseSystemLane => self.close_system_lane(),
                Effect::TellReplaced => self.tell_of_progress(System::Replaced),
                Effect::TellStarted => self.tell_of_progress(System::Started),
                Effect::TellHalted => self.tell_of_progress(System::Halted),
                Effect::StartChild(at) => self.start_child(at),
                Effect::TellParent(how) => self.tell_parent(how),
                Effect::TellWatcher(watcher, how) => {
                    if self.cell.core.parent.as_ref() != Some(&watcher) {
                        watcher.send_system(System::Ended { subject: self.me(), child: None, how });
                    }
                }
                Effect::Note(note) => {
                    // Rule 4.8. Now, because the actor may be stopped before it looks at its messages again.
                    if matches!(note, Note::Resumed)
                        && let Some(aside) = &mut self.aside
                    {
                        aside.retries.forget();
                    }
                    self.note(note);
                }
                Effect::Call(call) => self.call = Some(call),
            }
        }
        question
    }

    /// Puts something at the tail of the own user lane.
    pub(super) fn enqueue(&self, control: Control) {
        // Only this cell closes its mailbox, so it is open.
        let _open = self.cell.mailbox.push_control(control);
    }

    /// Reports a failure to the parent, which decides on its own turn.
    fn report(&self, cause: Failure, restarts: u32) {
        let core = &self.cell.core;
        match &core.parent {
            Some(parent) => {
                parent.send_system(System::Failed { child: core.id, cause, restarts });
            }
            None => core.system.root_failed(&self.me(), cause),
        }
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

    fn tell_of_progress(&self, message: fn(ChildId) -> System) {
        if let Some(parent) = &self.cell.core.parent {
            parent.send_system(message(self.cell.core.id));
        }
    }

    // ---- declared children ---------------------------------------------------------------------------------------

    /// What a new instance needs to declare a field.
    pub(super) fn declaration(&mut self, at: usize) -> Declare<'_, A> {
        let survivor = self.cell.core.protocol().child_of_field(at).cloned();
        let slots = &mut self.rare().slots;
        if slots.is_empty() {
            *slots = vec![None; A::CHILDREN.len()];
        }
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
        self.rare.as_ref()?.slots.get(at)?.as_ref()
    }

    fn start_child(&self, at: usize) {
        if let (Some(slot), Some(spec)) = (self.slot(at), A::CHILDREN.get(at)) {
            Arc::clone(slot).start(&self.me(), at, spec);
        }
    }

    fn decide(&self, child: ChildId, cause: &Failure) -> (Result<Directive, Failure>, Strategy) {
        let info = self.cell.core.protocol().child_info(child);
        let (name, restarts) = info.unwrap_or_else(|| (ActorName::from(""), 0));
        let info = ChildInfo { name, restarts };
        let decided = contained(|| match self.policy() {
            Some(policy) => (policy.decide)(cause, &info),
            None => A::decide(cause, &info).map(|directive| (directive, A::STRATEGY)),
        });
        match decided.unwrap_or_else(|payload| Err(Failure::panic(payload))) {
            Ok((directive, strategy)) => (Ok(directive), strategy),
            Err(failure) => (Err(failure), self.strategy()),
        }
    }

    fn strategy(&self) -> Strategy {
        self.policy().map_or(A::STRATEGY, |policy| policy.strategy)
    }

    fn policy(&self) -> Option<&Policy> {
        self.settings()?.policy.as_ref()
    }

    fn stop_timeout(&self) -> Duration {
        self.settings().and_then(|settings| settings.stop_timeout).unwrap_or(A::STOP_TIMEOUT)
    }

    fn settings(&self) -> Option<&Settings> {
        self.rare.as_ref()?.settings.as_deref()
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

    /// Closes the user lane. What is left goes to dead letters, in order.
    fn close_user_lane(&mut self) {
        self.unstash_all();
        // Here only where the runtime goes away between an inline turn and the worker's.
        if let Some(CameUp::Unwanted(message)) = self.take_deferred() {
            self.user.push_front(message);
        }
        let mut user = self.cell.mailbox.close_user_lane();
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
    }

    /// Closes the system lane, when all who had to be told of the end have been. Those who watched too late are told now.
    fn close_system_lane(&mut self) {
        let mut system = self.cell.mailbox.close_system_lane();
        while let Some(message) = system.pop() {
            self.me().answer_for_the_dead(message);
        }
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
            Entry::Control(
                Control::Terminated(_) | Control::PoisonPill | Control::Tick(_) | Control::Outcome(_),
            ) => {}
        }
    }
}

/// The runtime goes away under a cell that has not ended, or its own code panicked: no hooks, but nobody waits for ever
/// (rule 6.6).
impl<A: Actor> Drop for Shell<A> {
    fn drop(&mut self) {
        if !self.ended {
            self.close_user_lane();
            // Parents and children hold each other until the children have ended.
            let forgotten = self.cell.core.protocol().abandon();
            // Not `thread::panicking()`: a panic that has nothing to do with this cell may drop the runtime.
            if self.cell.core.system.dispatcher().has_gone() {
                super::gone_with_its_runtime(&self.me(), &forgotten);
            } else {
                super::broke(&self.me(), &forgotten);
            }
            self.close_system_lane();
            drop_quietly(forgotten);
        }
    }
}
