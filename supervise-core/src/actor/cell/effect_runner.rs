//! The part of a cell that continues to work while a handler borrows the instance: it steps the protocol and carries
//! out its effects.

mod decision;
mod declared_children;
mod end;
mod gathered;
mod notes;
mod set_aside;
mod slices;
#[cfg(feature = "spans")]
mod spans;
mod timing;
mod turn;

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use tokio::time::Instant;

pub(super) use self::decision::Basis;
use self::decision::Question;
use self::set_aside::SetAside;
use self::slices::Rest;
use super::run::{Interrupt, THROUGHPUT, decide_now};
use super::user_code::WhileParked;
use super::{AnyCell, Cell, Effects, Room, System, put_back, room};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::child::AnyDeclaration;
use crate::actor::configuration::Configuration;
use crate::actor::control::Control;
use crate::actor::death_watch::Terminated;
use crate::actor::definition::Actor;
use crate::actor::dispatch::Task;
use crate::actor::end_reason::EndReason;
use crate::actor::held_up;
use crate::actor::props::Settings;
use crate::actor::reply;
use crate::actor::request::AskError;
use crate::base::{Timers, later};
use crate::failure::Failure;
use crate::mailbox::Chunk;
use crate::supervision::{Call, ChildId, ChildInfo, Effect, HowEnded, Input, Note, Returned, Timer};

/// The part of a cell that continues to work while a handler borrows the rest.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, set and read in one place")]
pub(super) struct EffectRunner<A: Actor> {
    pub(super) cell: Arc<Cell<A::Message>>,
    /// The entries taken from the user lane.
    user: Chunk<A::Message, Control>,
    /// Whether all entries were taken from the lane in this turn.
    looked: bool,
    /// How many messages were handled in this turn.
    pub(super) handled: u32,
    /// How many of them do not count as activity.
    pub(super) unnoticed: u8,
    /// How many system messages were handled in this turn, and timers of the protocol that were due.
    pub(super) supervised: u32,
    /// How many effects were carried out in this turn.
    performed: u16,
    /// Allocated with the first message that is stashed or may be redelivered.
    pub(super) aside: Option<Box<SetAside<A::Message>>>,
    timers: Option<Box<Timers>>,
    #[cfg(feature = "spans")]
    spanned: Option<Box<spans::Spanned>>,
    #[cfg(feature = "timing")]
    timed: timing::Timed,
    /// State that few actors need and that handling a message does not read. Allocated when first needed.
    rare: Option<Box<Rare<A::Message>>>,
    /// The call that the protocol wants.
    pub(super) call: Option<Call<Failure>>,
    /// Whether the next user message may be handled, according to the last step.
    pub(super) accepts: bool,
    /// The protocol wants the parked code to be dropped.
    abort: bool,
    /// The protocol knows that code is parked and waits for its return.
    pub(super) parked: bool,
    pub(super) ended: bool,
}

/// See [`EffectRunner::rare`].
struct Rare<M> {
    /// The settings given at the spawn, which replace those that the actor type declares.
    settings: Option<Box<Settings>>,
    /// What the table of the current instance takes from its settings.
    configuration: Option<Arc<Configuration>>,
    /// The declaration of each field, if it has been declared.
    slots: Vec<Option<Arc<dyn AnyDeclaration>>>,
    /// What an inline turn left to do. A carrier does it.
    deferred: Option<Interrupt<M>>,
    /// The notification that the actor gets next.
    gone: Option<Terminated>,
    /// Why the instance will be dropped. Set only if the actor [keeps reply slots](Actor::KEEPS_REPLIES).
    doom: Option<Failure>,
    /// What the last step left to do.
    rest: Option<Box<Rest<M>>>,
    /// While code was parked, the actor was suspended, or told to restart or stop, or the code is the last hook of the instance.
    may_be_held: bool,
}

impl<M> Rare<M> {
    fn new(settings: Option<Box<Settings>>) -> Self {
        Self {
            settings,
            configuration: None,
            slots: Vec::new(),
            deferred: None,
            gone: None,
            doom: None,
            rest: None,
            may_be_held: false,
        }
    }
}

impl<A: Actor> WhileParked for EffectRunner<A> {
    #[inline]
    fn keeps_replies(&self) -> bool {
        A::KEEPS_REPLIES
    }

    fn parked(&mut self) {
        self.parked = true;
        self.step_while_parked(Input::Parked);
    }

    fn is_parked(&self) -> bool {
        self.parked
    }

    fn may_be_held(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.may_be_held)
    }

    fn go_on(&mut self, cx: &mut TaskContext<'_>) -> Poll<bool> {
        self.cell.mailbox.set_accepts(false);
        let mut has_changed = self.has_rest();
        if has_changed {
            self.go_on_with_rest(&mut || unreachable!("the instance is not dropped while its code is parked"));
        }
        loop {
            if self.has_rest() {
                self.give_way();
                return Poll::Pending;
            }
            if self.supervised >= THROUGHPUT {
                // The rest waits until other actors have had their turns.
                self.give_way();
                break;
            }
            if let Some(message) = self.next_system() {
                has_changed = true;
                self.step_while_parked(Input::Message(message));
                if self.cell.core.protocol().is_held() {
                    self.rare().may_be_held = true;
                }
            } else if let Poll::Ready(timer) = self.poll_due(cx) {
                has_changed = true;
                self.step_while_parked(Input::Due(timer));
            } else {
                self.charge(0);
                break;
            }
        }
        if self.may_be_held() {
            self.marks_code_that_is_held(has_changed);
        }
        Poll::Ready(std::mem::take(&mut self.abort))
    }

    #[inline]
    fn over(&mut self) {
        self.cell.core.waits_no_more();
    }

    #[cfg(feature = "spans")]
    fn enter_span(&self) -> Option<crate::observe::spans::Inside<'_>> {
        EffectRunner::enter_span(self)
    }
}

impl<A: Actor> EffectRunner<A> {
    pub(super) fn new(cell: Arc<Cell<A::Message>>, settings: Option<Box<Settings>>) -> Self {
        Self {
            cell,
            user: Chunk::new(),
            looked: false,
            handled: 0,
            unnoticed: 0,
            supervised: 0,
            performed: 0,
            aside: None,
            timers: None,
            #[cfg(feature = "spans")]
            spanned: None,
            #[cfg(feature = "timing")]
            timed: timing::Timed::default(),
            rare: settings.map(|settings| Box::new(Rare::new(Some(settings)))),
            call: None,
            accepts: false,
            abort: false,
            parked: false,
            ended: false,
        }
    }

    /// The actor has failed, or restarts for another one's failure. The first cause counts.
    pub(super) fn doomed_by(&mut self, cause: &Failure) {
        self.rare().doom.get_or_insert_with(|| cause.clone());
    }

    /// The actor was resumed: what failed is not delivered again, and reply slots stay. Rules 4.8 and 19.4.
    #[cold]
    fn resumed(&mut self) {
        if A::REDELIVERS
            && let Some(aside) = &mut self.aside
        {
            aside.retries.forget();
        }
        #[cfg(feature = "durable")]
        if let Some(deliveries) = self.deliveries_so_far() {
            deliveries.resumed();
        }
        self.forget_doom();
    }

    /// Forgets why the instance would be dropped: it continues to run, or a new one has replaced it.
    pub(super) fn forget_doom(&mut self) {
        if A::KEEPS_REPLIES
            && let Some(rare) = &mut self.rare
        {
            rare.doom = None;
        }
    }

    /// The error for askers whose slots are dropped with the instance, or by its last hook.
    ///
    /// Rule 19.4.
    pub(super) fn why_replies_are_dropped(&self) -> AskError {
        let doom = self.rare.as_ref().and_then(|rare| rare.doom.clone());
        doom.map_or(AskError::Stopped, AskError::Failed)
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
        self.cell.mailbox.take_system(&mut self.looked)
    }

    fn step_while_parked(&mut self, input: Input<'_, AnyActorRef, Failure>) {
        self.step(input, &mut || unreachable!("the instance is not dropped while its code is parked"));
    }

    /// Code that is parked may hold siblings up if the actor is suspended, or is to restart or stop. If the actor `has_changed`, others may
    /// wait in vain for it now. Otherwise they are not woken: two actors whose code waits for the other one would wake each other for ever.
    #[cold]
    fn marks_code_that_is_held(&mut self, has_changed: bool) {
        let core = &self.cell.core;
        let is_held = core.protocol().is_held();
        if is_held {
            if has_changed {
                core.wake_waiting();
            }
            let me: Arc<dyn AnyCell> = Arc::clone(&self.cell) as _;
            held_up::is_polled(&me);
        }
        self.rare().may_be_held = is_held;
    }

    /// One step of the protocol, and the steps that answer its questions.
    #[inline]
    pub(super) fn step(&mut self, input: Input<'_, AnyActorRef, Failure>, drop_instance: &mut dyn FnMut()) {
        debug_assert!(!self.has_rest(), "the last step is carried out");
        self.advance(Some(input), drop_instance);
    }

    /// Takes a step, or continues with what the last step left to do. What exceeds the slice of this turn is left to
    /// the next turn. `drop_instance` is a trait object, so that each actor type compiles this once and not for each
    /// caller.
    fn advance(&mut self, input: Option<Input<'_, AnyActorRef, Failure>>, drop_instance: &mut dyn FnMut()) {
        let mut about = None;
        let mut room = match input {
            Some(input) => {
                let mut room = room();
                self.begin_step(input, &mut about, &mut room.effects);
                room
            }
            None => self.take_rest(),
        };
        let mut nested = None;
        while let Some(question) = self.perform(&mut room, &mut nested, drop_instance) {
            self.answer(question, &mut about, &mut room);
            room.effects.reverse();
            // A supervisor that was suspended has a question for each failure that it has deferred.
            if self.has_supervised_enough() {
                break;
            }
        }
        if room.effects.is_empty() {
            put_back(room);
        } else {
            self.leave_rest(room);
        }
        if let Some((task, report)) = nested
            && let Some(supervisor) = &self.cell.core.parent
        {
            if A::KEEPS_REPLIES {
                reply::beside(|| decide_now(supervisor, task, report));
            } else {
                decide_now(supervisor, task, report);
            }
        }
    }

    /// Gives the protocol an input. Leaves the effects in reverse order. Sets `about` to the child that the decider is asked about.
    #[inline]
    fn begin_step(
        &mut self,
        input: Input<'_, AnyActorRef, Failure>,
        about: &mut Option<ChildInfo>,
        effects: &mut Effects,
    ) {
        if let Input::Returned(returned) = &input {
            self.parked = false;
            self.abort = false;
            if A::KEEPS_REPLIES
                && let Returned::Err(cause) = returned
            {
                self.doomed_by(cause);
            }
        }
        self.accepts = self.cell.core.step(input, about, effects);
        effects.reverse();
    }

    /// Carries out effects until the slice of this turn is used up. The effects are in reverse order, because popping
    /// the last one costs less than draining. Returns the protocol's question, which is the last effect, if there is
    /// one. Leaves a report to the caller, for a `nested` turn of the supervisor, if that can decide at once.
    fn perform(
        &mut self,
        room: &mut Room,
        nested: &mut Option<(Task, System)>,
        drop_instance: &mut dyn FnMut(),
    ) -> Option<Question> {
        let Room { effects, basis } = room;
        let mut question = None;
        let left = if effects.len() <= Self::FEW { 0 } else { self.begin_slice(effects.len()) };
        while effects.len() > left
            && let Some(effect) = effects.pop()
        {
            match effect {
                Effect::Decide(child, cause) => {
                    self.count_long_step();
                    question = Some(Question::Decide(child, cause));
                }
                Effect::RestartEnded(_, cause) => {
                    self.count_long_step();
                    question = Some(Question::RestartEnded(cause));
                }
                Effect::Report { cause, restarts, runs } => {
                    // Otherwise what follows, such as the instance's destructor, would hold the supervisor up.
                    let is_last = effects.is_empty();
                    *nested = self.report(cause, restarts, runs, is_last);
                }
                Effect::Send(to, message) => self.send(&to, message),
                Effect::Watch(subject) => subject.send_system(System::Watch(self.me())),
                Effect::Unwatch(subject) => subject.send_system(System::Unwatch(self.me())),
                Effect::Enqueue(subject) => {
                    self.enqueue(Control::Terminated(subject));
                }
                Effect::Arm(timer, delay) => {
                    if timer == Timer::Abort {
                        // The restart or the stop waits for the code that is parked.
                        self.rare().may_be_held = true;
                    }
                    let at = later(Instant::now(), delay.unwrap_or_else(|| self.stop_timeout()));
                    self.timers.get_or_insert_with(|| Box::new(Timers::new())).set(timer.into(), at);
                }
                Effect::Disarm(timer) => {
                    if let Some(timers) = &mut self.timers {
                        timers.cancel(timer.into());
                    }
                }
                Effect::AnnounceStop => self.cell.core.announce_stop(),
                Effect::EndsByItself => self.cell.core.ends_because(EndReason::StoppedItself),
                Effect::Abort => self.abort = true,
                Effect::DropInstance => {
                    if A::KEEPS_REPLIES {
                        reply::dropping(self.why_replies_are_dropped(), &mut *drop_instance);
                        self.forget_doom();
                    } else {
                        drop_instance();
                    }
                }
                Effect::CloseUserLane => {
                    if !self.close_user_lane(false) {
                        effects.push(Effect::CloseUserLane);
                        break;
                    }
                }
                Effect::CloseSystemLane => {
                    if !self.close_system_lane(false) {
                        effects.push(Effect::CloseSystemLane);
                        break;
                    }
                }
                Effect::TellReplaced => self.tell_of_progress(System::Replaced),
                Effect::TellStarted => self.tell_of_progress(System::Started),
                Effect::TellRestartPrepared => self.tell_of_progress(System::RestartPrepared),
                Effect::StartChild(at) => self.start_child(at),
                Effect::TellParent(how) => self.tell_parent(how),
                Effect::TellWatcher(watcher, how) => {
                    if self.cell.core.parent.as_ref() != Some(&watcher) {
                        watcher.send_system(System::Ended { subject: self.me(), child: None, how });
                    }
                }
                Effect::Note(note) => {
                    // Rule 4.8. Done now, because the actor may be stopped before it handles its next message.
                    if matches!(note, Note::Resumed) {
                        self.resumed();
                    }
                    self.note(note, basis.as_ref());
                }
                Effect::Charge(children) => self.count_children(children),
                Effect::Call(call) => {
                    self.count_long_step();
                    self.call = Some(call);
                }
            }
        }
        question
    }

    /// Tells a child what the protocol decided.
    fn send(&self, to: &AnyActorRef, message: System) {
        if message.goes_on() {
            to.core().goes_on();
        }
        let restarts = matches!(message, System::Restart(_));
        if !to.send_system_unless_undone(message) && restarts {
            self.cell.core.protocol().restart_was_joined(to.core().id);
        }
    }

    /// Puts a control at the tail of the actor's own user lane.
    pub(super) fn enqueue(&mut self, control: Control) {
        self.looked = false;
        // The lane is open, because only this cell closes its mailbox.
        let _open = self.cell.mailbox.push_control(control);
    }

    /// Reports a failure to the parent, which decides in a turn of its own. Returns the report and the parent's task if that turn
    /// may begin right after this step, of which this `is_last`.
    fn report(&self, cause: Failure, restarts: u32, runs: u8, is_last: bool) -> Option<(Task, System)> {
        let core = &self.cell.core;
        let Some(parent) = &core.parent else {
            core.system.root_failed(&self.me(), cause);
            return None;
        };
        let report = System::Failed { child: core.id, cause, restarts, runs };
        if is_last
            && core.system.dispatcher().has_nothing_before_a_supervisor()
            && let Some(task) = parent.0.take_idle()
        {
            return Some((task, report));
        }
        parent.send_system(report);
        None
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
}
