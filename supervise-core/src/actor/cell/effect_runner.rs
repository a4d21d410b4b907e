//! The part of a cell that continues to work while a handler borrows the instance: it steps the protocol and carries
//! out its effects.

mod aside;
mod gathered;
mod slices;
#[cfg(feature = "spans")]
mod spans;
mod turn;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::Instant;

use self::aside::Aside;
use self::slices::Rest;
use super::run::{Interrupt, THROUGHPUT};
use super::user_code::WhileParked;
use super::{Cell, Effects, System, effects_buffer, put_back};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::child::{AnyDeclaration, Declare, UndeclaredChild};
use crate::actor::configuration::Configuration;
use crate::actor::control::Control;
use crate::actor::death_watch::Terminated;
use crate::actor::definition::Actor;
use crate::actor::end_reason::EndReason;
use crate::actor::props::{Policy, Settings};
use crate::actor::reply;
use crate::actor::request::AskError;
use crate::base::{ActorName, Timers, contained, drop_contained, later};
use crate::failure::{During, Failure};
use crate::mailbox::{Entry, Lane};
use crate::observe::{About, DeadLetterReason, Life, Observer};
use crate::supervision::{
    Call, ChildId, ChildInfo, Directive, Effect, HowEnded, Input, Note, Outcome, Returned, Ruling, Strategy, Time,
};

/// The part of a cell that continues to work while a handler borrows the rest.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, set and read in one place")]
pub(super) struct EffectRunner<A: Actor> {
    pub(super) cell: Arc<Cell<A::Message>>,
    /// The entries taken from the user lane.
    user: Lane<A::Message, Control>,
    /// Whether entries were taken from the lane in this turn.
    looked: bool,
    /// How many messages were handled in this turn.
    pub(super) handled: u32,
    /// How many of them do not count as activity.
    pub(super) unnoticed: u8,
    /// How many system messages were handled in this turn.
    pub(super) supervised: u32,
    /// How many effects were carried out in this turn.
    performed: u16,
    /// Allocated with the first message that is stashed or may be redelivered.
    pub(super) aside: Option<Box<Aside<A::Message>>>,
    timers: Option<Box<Timers>>,
    #[cfg(feature = "spans")]
    spanned: Option<Box<spans::Spanned>>,
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
    /// The rest of an inline turn, which a worker takes over.
    deferred: Option<Interrupt<M>>,
    /// The notification that the actor gets next.
    gone: Option<Terminated>,
    /// Why the instance will be dropped. Only of an actor that [keeps reply slots](Actor::KEEPS_REPLIES).
    doom: Option<Failure>,
    /// What the last step left to do.
    rest: Option<Box<Rest<M>>>,
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
        }
    }
}

/// A question of the protocol to the supervisor. The protocol continues with the answer.
enum Question {
    /// What to do about the failure of a child.
    Decide(ChildId, Failure),
    /// What to do about the end of a permanent child. The answer is always a restart.
    RestartEnded,
}

/// What a decision was based on, for the log and the subscribers.
struct Basis {
    strategy: Strategy,
    /// The place of the rule that matched.
    rule: Option<u16>,
    now: Time,
}

impl<A: Actor> WhileParked for EffectRunner<A> {
    const KEEPS_REPLIES: bool = A::KEEPS_REPLIES;

    fn parked(&mut self) {
        self.parked = true;
        self.step_while_parked(Input::Parked);
    }

    fn is_parked(&self) -> bool {
        self.parked
    }

    fn go_on(&mut self, cx: &mut TaskContext<'_>) -> Poll<bool> {
        self.cell.mailbox.set_accepts(false);
        if self.has_rest() {
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
                self.step_while_parked(Input::Message(message));
            } else if let Some(timers) = &mut self.timers
                && let Poll::Ready(timer) = timers.poll_due(cx)
            {
                self.step_while_parked(Input::Due(timer.into()));
            } else {
                self.charge(0);
                break;
            }
        }
        Poll::Ready(std::mem::take(&mut self.abort))
    }

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
            user: Lane::new(),
            looked: false,
            handled: 0,
            unnoticed: 0,
            supervised: 0,
            performed: 0,
            aside: None,
            timers: None,
            #[cfg(feature = "spans")]
            spanned: None,
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

    /// Rules 4.8 and 19.4.
    #[cold]
    fn resumed(&mut self) {
        if let Some(aside) = &mut self.aside {
            aside.retries.forget();
            #[cfg(feature = "durable")]
            if let Some(deliveries) = &mut aside.deliveries {
                deliveries.resumed();
            }
        }
        self.forget_doom();
    }

    /// The instance goes on, or there is a new one.
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
        self.cell.mailbox.take_system()
    }

    fn step_while_parked(&mut self, input: Input<'_, AnyActorRef, Failure>) {
        self.step(input, &mut || unreachable!("the instance is not dropped while its code is parked"));
    }

    /// One step of the protocol, and the steps that answer its questions.
    #[inline]
    pub(super) fn step(&mut self, input: Input<'_, AnyActorRef, Failure>, drop_instance: &mut dyn FnMut()) {
        debug_assert!(!self.has_rest(), "the last step is carried out");
        self.advance(Some(input), drop_instance);
    }

    /// Takes a step, or goes on with what the last step left. What is too much for this turn is left to the next one.
    /// `drop_instance` is a trait object, so that each actor type compiles this once and not for each caller.
    fn advance(&mut self, input: Option<Input<'_, AnyActorRef, Failure>>, drop_instance: &mut dyn FnMut()) {
        let (mut effects, mut basis) = match input {
            Some(input) => {
                let mut effects = effects_buffer();
                self.begin_step(input, &mut effects);
                (effects, None)
            }
            None => self.take_rest(),
        };
        while let Some(question) = self.perform(&mut effects, basis.as_deref(), drop_instance) {
            basis = self.answer(question, &mut effects);
            effects.reverse();
        }
        if effects.is_empty() { put_back(effects) } else { self.leave_rest(effects, basis) }
    }

    /// Gives the protocol an input. The last one of the effects comes first.
    #[inline]
    fn begin_step(&mut self, input: Input<'_, AnyActorRef, Failure>, effects: &mut Effects) {
        if let Input::Returned(returned) = &input {
            self.parked = false;
            self.abort = false;
            if A::KEEPS_REPLIES
                && let Returned::Err(cause) = returned
            {
                self.doomed_by(cause);
            }
        }
        self.accepts = self.cell.core.step(input, effects);
        effects.reverse();
    }

    /// The step that answers a question of the protocol.
    #[cold]
    fn answer(&mut self, question: Question, effects: &mut Effects) -> Option<Box<Basis>> {
        let (mut given, mut rule) = (None, None);
        // Another creation may be delayed without a declared backoff (rule 5.3).
        let (verdict, creates) = match question {
            Question::Decide(child, cause) => {
                (self.decide(child, &cause, &mut given, &mut rule), cause.is_initialization())
            }
            Question::RestartEnded => (Ok(Directive::Restart), true),
        };
        let strategy = given.as_ref().unwrap_or_else(|| self.strategy());
        let system = &self.cell.core.system;
        let heard = system.observer().hears_failures();
        // Only a delay needs a random number, and only a delay, a limit and a listener need the time.
        let of_rule = |asks: fn(&Directive) -> bool| verdict.as_ref().is_ok_and(asks);
        let delays = strategy.backoff.is_some() || of_rule(Directive::has_backoff);
        let limited = !strategy.limit.is_unlimited() || of_rule(Directive::is_limited);
        let now = if delays || creates || heard || limited { system.now() } else { Time::ZERO };
        let draw = if delays { fastrand::f64() } else { 0.0 };
        let ruling = Ruling { verdict, strategy, now, draw, heard };
        let accepts = self.cell.core.step(Input::Decided(&ruling), effects);
        let basis = heard.then(|| Box::new(Basis { strategy: *strategy, rule, now }));
        self.accepts = accepts;
        basis
    }

    /// Carries the effects out, until this turn has had its slice. They are in reverse order: popping the last one costs less than
    /// draining. Returns the protocol's question, which is the last effect, if there is one.
    fn perform(
        &mut self,
        effects: &mut Effects,
        basis: Option<&Basis>,
        drop_instance: &mut dyn FnMut(),
    ) -> Option<Question> {
        let mut question = None;
        let left = if effects.len() <= Self::FEW { 0 } else { self.begin_slice(effects.len()) };
        while effects.len() > left
            && let Some(effect) = effects.pop()
        {
            match effect {
                Effect::Decide(child, cause) => question = Some(Question::Decide(child, cause)),
                Effect::RestartEnded(_) => question = Some(Question::RestartEnded),
                Effect::Report { cause, restarts, runs } => self.report(cause, restarts, runs),
                Effect::Send(to, message) => self.send(&to, message),
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
                    self.note(note, basis);
                }
                Effect::Call(call) => self.call = Some(call),
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
    pub(super) fn enqueue(&self, control: Control) {
        // The lane is open, because only this cell closes its mailbox.
        let _open = self.cell.mailbox.push_control(control);
    }

    /// Reports a failure to the parent, which decides on its own turn.
    fn report(&self, cause: Failure, restarts: u32, runs: u8) {
        let core = &self.cell.core;
        match &core.parent {
            Some(parent) => {
                parent.send_system(System::Failed { child: core.id, cause, restarts, runs });
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

    /// The [`Declare`] with which a new instance declares a field.
    pub(super) fn declaration(&mut self, at: usize) -> Declare<'_, A> {
        let survivor = self.cell.core.protocol().child_of_field(at).cloned();
        let Rare { slots, configuration, .. } = self.rare();
        if slots.is_empty() {
            *slots = vec![None; A::CHILDREN.len()];
        }
        Declare::new(slots.get_mut(at), survivor, configuration.clone())
    }

    /// Whether a new instance has declared a field.
    pub(super) fn declared(&self, at: usize) -> Result<(), UndeclaredChild> {
        match self.slot(at) {
            Some(_) => Ok(()),
            None => Err(UndeclaredChild { name: A::CHILDREN.get(at).map_or("", |spec| spec.name) }),
        }
    }

    fn slot(&self, at: usize) -> Option<&Arc<dyn AnyDeclaration>> {
        self.rare.as_ref()?.slots.get(at)?.as_ref()
    }

    fn start_child(&self, at: usize) {
        if let (Some(slot), Some(spec)) = (self.slot(at), A::CHILDREN.get(at)) {
            Arc::clone(slot).start(&self.me(), at, spec);
        }
    }

    /// Asks the decider. A decider that chooses a strategy for each failure puts the strategy into `given`. A table puts the
    /// place of the rule that matched into `rule`.
    fn decide(
        &self,
        child: ChildId,
        cause: &Failure,
        given: &mut Option<Strategy>,
        rule: &mut Option<u16>,
    ) -> Result<Directive, Failure> {
        let protocol = self.cell.core.protocol();
        let info = protocol.child_info(child);
        let is_answered = protocol.decides_answered_failure();
        drop(protocol);
        let (name, restarts) = info.unwrap_or_else(|| (ActorName::from(""), 0));
        let info = ChildInfo { name, restarts, is_answered };
        let decided = contained(|| match self.policy() {
            Some(policy) => {
                let (ruled, strategy) = (policy.decide)(cause, &info)?;
                *given = Some(strategy);
                Ok(ruled)
            }
            None => match self.configuration() {
                Some(values) => A::rule_by(values, cause, &info),
                None => A::rule(cause, &info),
            },
        });
        match decided.unwrap_or_else(|payload| Err(Failure::panic(payload))) {
            Ok((directive, matched)) => {
                *rule = matched;
                Ok(directive)
            }
            Err(failure) => Err(failure.left(Some(During::Decider))),
        }
    }

    fn strategy(&self) -> &Strategy {
        match (self.policy(), self.configuration()) {
            (Some(policy), _) => &policy.strategy,
            (None, Some(values)) => values.strategy(),
            (None, None) => const { &A::STRATEGY },
        }
    }

    fn configuration(&self) -> Option<&Configuration> {
        self.rare.as_ref()?.configuration.as_deref()
    }

    /// Takes the values of a new instance.
    ///
    /// Rule 7.12.
    pub(super) fn configure(&mut self, configuration: Arc<Configuration>) {
        self.rare().configuration = Some(configuration);
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

    fn note(&self, note: Note<Failure>, basis: Option<&Basis>) {
        let core = &self.cell.core;
        match &note {
            Note::Decided { child, cause, outcome, .. } => self.decided(*child, cause, *outcome),
            Note::DeciderFailed { child, about, .. } => self.left_unanswered(*child, about, Outcome::Escalated),
            _ => {}
        }
        let observer = core.system.observer();
        if observer.listens() {
            self.heard(observer, note, basis);
        }
    }

    #[cold]
    fn heard(&self, observer: &Observer, note: Note<Failure>, basis: Option<&Basis>) {
        let core = &self.cell.core;
        observer.count(core.description().type_name(), || match &note {
            Note::Started { again } if !again || core.protocol().runs_for_the_first_time() => Some(Life::Started),
            // A restart that came to nothing was followed by another creation.
            Note::Restarted(_) | Note::Started { .. } => Some(Life::Restarted),
            Note::Aborted => Some(Life::Aborted),
            Note::Stopped(_) => {
                let messages = self.cell.mailbox.vitals().taken_up();
                Some(Life::Ended { why: core.end_reason().name(), messages })
            }
            _ => None,
        });
        if observer.wants(&note) {
            self.tell(observer, note, basis);
        }
    }

    #[cold]
    fn decided(&self, child: ChildId, cause: &Failure, outcome: Outcome) {
        match outcome {
            Outcome::Escalated | Outcome::LimitEscalated => {
                let core = &self.cell.core;
                let failed = core.protocol().child(child).cloned();
                cause.escalated(|| failed.map_or_else(|| core.path(), |failed| failed.path()));
            }
            Outcome::Stopped { .. } | Outcome::LimitReached { .. } => {}
            Outcome::Resumed | Outcome::Restarting { .. } | Outcome::AlreadyAnswered => return,
        }
        self.left_unanswered(child, cause, outcome);
    }

    /// Records that neither a resume nor a restart answers the failure of a child. Called before the child is
    /// told anything.
    ///
    /// Rule 8.8.
    #[cold]
    fn left_unanswered(&self, child: ChildId, cause: &Failure, outcome: Outcome) {
        let protocol = self.cell.core.protocol();
        let Some(failed) = protocol.child(child).cloned() else { return };
        let ends = protocol.awaits_end_of(child);
        drop(protocol);
        let at_limit = matches!(outcome, Outcome::LimitReached { .. } | Outcome::LimitEscalated);
        failed.core().left_unanswered(EndReason::unanswered(cause.clone(), at_limit), ends);
    }

    #[cold]
    fn tell(&self, observer: &Observer, note: Note<Failure>, basis: Option<&Basis>) {
        let core = &self.cell.core;
        let (strategy, rule, now) = match basis {
            Some(basis) => (basis.strategy, basis.rule, basis.now),
            None => (*self.strategy(), None, Time::ZERO),
        };
        let mut about = About {
            actor: core.path(),
            actor_type: core.description().type_name(),
            uid: core.uid,
            child: None,
            child_type: core.description().type_name(),
            strategy,
            rule: core.description().table().rule_named(rule),
            standing: None,
            gave_up_after: None,
            attempt: 0,
            now: basis.map(|basis| basis.now),
        };
        if matches!(note, Note::Started { again: true } | Note::Restarted(_))
            && let Some(parent) = &core.parent
        {
            // The parent counts. Neither lock is held while this one waits for it.
            about.attempt = parent.core().protocol().failures_in_row(core.id);
        }
        if let Some(id) = note.child() {
            let protocol = core.protocol();
            let child = protocol.child(id).cloned();
            about.standing = match &note {
                Note::Decided { directive, outcome, .. } => {
                    let refused = matches!(outcome, Outcome::LimitReached { .. } | Outcome::LimitEscalated);
                    let standing = protocol.standing_of_rule(id, &strategy, directive, refused, now);
                    if standing.is_some() {
                        about.strategy.limit = directive.limit();
                    }
                    if refused && protocol.gave_up(id) {
                        about.gave_up_after =
                            directive.backoff().or(strategy.backoff).and_then(|backoff| backoff.give_up_after);
                    }
                    standing.or_else(|| protocol.standing(id, &strategy, now))
                }
                _ => protocol.standing(id, &strategy, now),
            };
            about.attempt = protocol.failures_in_row(id);
            drop(protocol);
            if let Some(child) = child {
                (about.uid, about.child) = (child.core().uid, Some(child.path()));
                about.child_type = child.core().description().type_name();
            }
        }
        observer.note(about, note);
    }

    // ---- the end -------------------------------------------------------------------------------------------------

    /// Closes the user lane. The remaining messages become dead letters, in order. If this child has a key, they may be
    /// left to its successor, unless this is `for_good`. Returns whether nothing is left for the next turn.
    ///
    /// Rules 6.3, 18.3.
    fn close_user_lane(&mut self, for_good: bool) -> bool {
        let Some(mut user) = self.take_closed_user_lane().or_else(|| self.shut_user_lane(for_good)) else {
            self.leave_to_successor();
            return true;
        };
        while let Some(entry) = self.user.pop().or_else(|| user.pop()) {
            self.reaches_nobody(entry);
            if !for_good && self.slice_ends() {
                self.leave_closed_user_lane(user);
                return false;
            }
        }
        #[cfg(feature = "durable")]
        if !for_good && let Some(outlet) = self.cell.core.outlet() {
            outlet.release();
        }
        self.timers = None;
        true
    }

    /// Closes the user lane and returns what waits there; what was taken from it before is put in front of its entries. `None`: the
    /// lane is left to a successor.
    fn shut_user_lane(&mut self, for_good: bool) -> Option<Lane<A::Message, Control>> {
        if A::BATCHES {
            self.ungather();
        }
        self.unstash_all();
        // Present only if the runtime goes away between an inline turn and the turn on a worker.
        if let Some(Interrupt::Unwanted(message)) = self.take_deferred() {
            self.user.push_front(message);
        }
        let user = match self.cell.core.seat() {
            Some(seat) if !for_good => self.cell.leave(seat)?,
            _ => self.cell.mailbox.close_user_lane(),
        };
        if let Some(mut aside) = self.aside.take() {
            for retry in aside.retries.close() {
                self.quarantine(retry);
            }
            #[cfg(feature = "durable")]
            if let Some(deliveries) = &mut aside.deliveries {
                deliveries.close();
            }
            for message in aside.unstashed.into_iter().rev() {
                self.user.push_front(message);
            }
        }
        Some(user)
    }

    /// Puts the messages that were taken from the lane back, in order. A message that waited for redelivery
    /// is not delivered again.
    #[cold]
    fn leave_to_successor(&mut self) {
        let mut messages = VecDeque::new();
        if let Some(mut aside) = self.aside.take() {
            for retry in aside.retries.close() {
                self.quarantine(retry);
            }
            messages = aside.unstashed;
        }
        while let Some(entry) = self.user.pop() {
            match entry {
                Entry::Message(message) => messages.push_back(message),
                control @ Entry::Control(_) => self.reaches_nobody(control),
            }
        }
        // The lane was closed in the meantime, because the runtime is going away.
        for message in self.cell.mailbox.put_back(messages).err().into_iter().flatten() {
            self.reaches_nobody(Entry::Message(message));
        }
        self.timers = None;
    }

    /// Closes the system lane, after the parent and all watchers have been told of the end. Actors that watched too
    /// late are told now. Returns whether nobody is left for the next turn.
    fn close_system_lane(&mut self, at_once: bool) -> bool {
        let mut system = match self.take_closed_system_lane() {
            Some(system) => system,
            None => self.cell.mailbox.close_system_lane(),
        };
        while let Some(message) = system.pop() {
            self.me().answer_for_the_dead(message);
            if !at_once && self.slice_ends() {
                self.leave_closed_system_lane(system);
                return false;
            }
        }
        self.ended = true;
        true
    }

    #[cold]
    fn reaches_nobody(&self, entry: Entry<A::Message, Control>) {
        match entry {
            #[cfg(feature = "durable")]
            Entry::Message(message) if A::is_stored(&message) => {
                // Its ticket takes it back to its queue.
                reply::drop_because(self.cell.core.end_reason().into_ask_error(), message);
            }
            Entry::Message(message) => {
                let name = A::message_name(&message);
                let why = self.cell.core.end_reason().into_ask_error();
                self.cell.core.lose(name, DeadLetterReason::Stopped, why, message);
            }
            Entry::Control(Control::Kill) => self.cell.core.dead_letter("Kill", DeadLetterReason::Stopped),
            #[cfg(feature = "spans")]
            Entry::Control(Control::Origin(_)) => {}
            // Dropping the visit tells its caller that there is no answer.
            Entry::Control(Control::Visit(visit)) => {
                reply::drop_because(AskError::Stopped, visit);
            }
            Entry::Control(
                Control::Terminated(_)
                | Control::PoisonPill
                | Control::StopSelf
                | Control::Passivate
                | Control::Tick(_)
                | Control::Outcome(_),
            ) => {}
        }
    }
}

/// The runtime goes away under a cell that has not ended, or the cell's own code panicked. Hooks do not run, but no
/// asker or watcher waits for ever (rule 6.6).
impl<A: Actor> Drop for EffectRunner<A> {
    fn drop(&mut self) {
        if !self.ended {
            let runtime_gone = self.cell.core.system.dispatcher().has_gone();
            if !self.cell.core.protocol().has_ended() {
                self.cell.core.ends_because(if runtime_gone {
                    EndReason::RuntimeGone
                } else {
                    EndReason::Unknown
                });
            }
            self.close_user_lane(true);
            let untold = self.untold_watchers();
            // Parents and children hold each other until the children have ended.
            let forgotten = self.cell.core.protocol().abandon();
            let watchers = forgotten.watchers().chain(&untold);
            // Not `thread::panicking()`: a panic that has nothing to do with this cell may drop the runtime.
            if runtime_gone {
                super::gone_with_its_runtime(&self.me(), watchers);
            } else {
                super::broke(&self.me(), &forgotten, watchers);
            }
            self.close_system_lane(true);
            drop_contained(forgotten);
        }
    }
}
