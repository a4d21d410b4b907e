//! Reporting what happened: to the event stream, and as `tracing` events under the target `supervise`.
//!
//! This module reports every event once. The only exception is the panic of a destructor, which the containment code
//! logs itself.
//!
//! 1. (rule 10.3) A log subscriber is user code, and so is the `Display` of an error that is logged. A panic in either
//!    is caught here and changes nothing else.

mod dead_letter;
mod event;
mod event_stream;
mod interest;
mod intervention;
#[cfg(feature = "tracing")]
mod log;
mod lost_messages;
#[cfg(not(feature = "tracing"))]
mod no_log;
#[cfg(feature = "remote")]
mod nodes;
mod patterns;
mod recent;
#[cfg(feature = "spans")]
pub(crate) mod spans;
mod tally;
mod thinned;
#[cfg(feature = "timing")]
mod timing;

use std::any::Any;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

pub use self::dead_letter::{DeadLetter, DeadLetterReason};
pub(crate) use self::dead_letter::{GivenUp, Lost};
pub use self::event::Event;
pub(crate) use self::event_stream::{End, Whose};
pub use self::event_stream::{EventStream, Events};

pub use self::interest::Interest;
pub use self::intervention::Intervention;
use self::lost_messages::Keepers;
pub(crate) use self::lost_messages::{Keeper, KeptMessage, Split};
pub use self::lost_messages::{LostMessage, LostMessages};
#[cfg(not(feature = "tracing"))]
use self::no_log as log;
#[cfg(feature = "remote")]
pub(crate) use self::nodes::NodeLines;
pub(crate) use self::patterns::Delayed;
pub use self::recent::LastFailure;
use self::recent::{LONGEST, Recent};
pub(crate) use self::tally::Life;
use self::tally::Tallied;
pub use self::tally::{Lives, Tally};
use self::thinned::{Alike, DeadLetterLines, FailureGroup, Line};
#[cfg(feature = "timing")]
pub(crate) use self::timing::Took;
#[cfg(feature = "timing")]
pub use self::timing::{TIME_BOUNDS, TimeBuckets, Times};
use crate::base::{ActorPath, Uid, contained, contained_silently};
use crate::failure::{Failure, cut, with_text};
use crate::supervision::{Directive, Limit, LogLevel, Note, Outcome, Standing, Strategy, Time};

/// Reports what happens in one system.
pub(crate) struct Observer {
    events: EventStream,
    dead_letters: Mutex<DeadLetterLines>,
    failures: Mutex<Recent>,
    alike: Mutex<Alike>,
    tallied: Arc<Tallied>,
    keepers: Keepers,
    #[cfg(feature = "spans")]
    spans: spans::Spans,
    #[cfg(feature = "timing")]
    timing: timing::Timing,
}

/// What else is known about a note.
pub(crate) struct About<'a> {
    /// The actor that noted it.
    pub(crate) actor: ActorPath,
    pub(crate) actor_type: &'static str,
    pub(crate) actor_uid: Uid,
    /// The actor that the note is about: the child if there is one, or else the actor itself.
    pub(crate) uid: Uid,
    pub(crate) child: Option<ActorPath>,
    /// The type of the child, or else that of the actor.
    pub(crate) child_type: &'static str,
    /// The decider's answer, if the note is a decision.
    pub(crate) directive: Option<&'a Directive>,
    /// The strategy by which a decision was carried out.
    pub(crate) strategy: &'a Strategy,
    /// The limit that `standing` is about: the rule's or the strategy's.
    pub(crate) limit: Limit,
    /// The rule that matched.
    pub(crate) rule: Option<&'static str>,
    pub(crate) standing: Option<Standing>,
    /// Set if the child was given up because it had been failing for this long.
    pub(crate) gave_up_after: Option<Duration>,
    /// The number of this failure in its streak.
    pub(crate) attempt: u32,
    /// When it was decided.
    pub(crate) now: Option<Time>,
    /// The names of the first few other children of the supervisor, and how many there are, if the supervisor fails when the limit is
    /// reached and this is the last restart before that. Only for the log.
    pub(crate) others: Option<(Vec<String>, usize)>,
}

impl About<'_> {
    /// How long it takes until the count of restarts starts anew, or until the oldest restart stops counting.
    #[cfg(feature = "tracing")]
    fn anew_in(&self) -> Option<Duration> {
        Some(self.standing?.anew_at?.saturating_sub(self.now?))
    }
}

impl Observer {
    /// Makes the observer of a system. `end` says how the system ended.
    pub(crate) fn new(event_capacity: usize, end: watch::Sender<End>) -> Self {
        Self {
            events: EventStream::new(event_capacity, end),
            dead_letters: Mutex::default(),
            failures: Mutex::default(),
            alike: Mutex::default(),
            tallied: Arc::default(),
            keepers: Keepers::default(),
            #[cfg(feature = "spans")]
            spans: spans::Spans::default(),
            #[cfg(feature = "timing")]
            timing: timing::Timing::default(),
        }
    }

    pub(crate) fn events(&self) -> &EventStream {
        &self.events
    }

    /// Whether a subscriber or the log is told of failures.
    pub(crate) fn hears_failures(&self) -> bool {
        self.events.hears(Interest::FAILURES) || logs()
    }

    /// From now on each message has a span of this level.
    #[cfg(feature = "spans")]
    pub(crate) fn start_spans(&self, level: tracing::Level, asks_as_children: bool) {
        self.spans.start(level, asks_as_children);
    }

    /// The current span, for a message that is about to be sent. `asks`: the sender waits for an answer.
    #[cfg(feature = "spans")]
    #[inline]
    pub(crate) fn origin(&self, asks: bool) -> Option<spans::Origin> {
        self.spans.origin(asks)
    }

    /// The span of a message, if it is on.
    #[cfg(feature = "spans")]
    #[inline]
    pub(crate) fn message_span(
        &self,
        about: impl FnOnce() -> spans::About,
        origins: impl Iterator<Item = spans::Origin>,
    ) -> Option<tracing::Span> {
        self.spans.begin(about, origins)
    }

    /// From now on, one in `one_in` messages is timed.
    #[cfg(feature = "timing")]
    pub(crate) fn begin_timing(&self, one_in: u32) {
        self.timing.begin(one_in);
    }

    /// Undoes one [`begin_timing`](Self::begin_timing).
    #[cfg(feature = "timing")]
    pub(crate) fn end_timing(&self) {
        self.timing.end();
    }

    /// Of how many messages one is timed. 0: none is.
    #[cfg(feature = "timing")]
    #[inline]
    pub(crate) fn times_one_in(&self) -> u32 {
        self.timing.one_in()
    }

    /// A message was timed.
    #[cfg(feature = "timing")]
    pub(crate) fn took(&self, took: Took) {
        self.timing.took(took);
    }

    /// What was found so far.
    #[cfg(feature = "timing")]
    pub(crate) fn times(&self) -> Vec<Times> {
        self.timing.times()
    }

    /// Whether a subscriber, a tally or the log may be told of this note.
    #[inline]
    pub(crate) fn listens_to(&self, note: &Note<Failure>) -> bool {
        let is_heard = self.events.hears(const { Interest::ALL.or(Interest::TALLY) }) && self.hears(note);
        is_heard || logs()
    }

    /// Whether a subscriber or a tally is told of this note. Out of line, because most systems have neither.
    #[cold]
    fn hears(&self, note: &Note<Failure>) -> bool {
        self.events.hears(Interest::in_note(note).map_or(Interest::TALLY, |kind| kind.or(Interest::TALLY)))
    }

    /// Counts what happens to the actors of each type, until this is dropped.
    pub(crate) fn tally(&self) -> Tally {
        Tally::new(&self.tallied, self.events.heard())
    }

    /// Counts what happened to an actor of a type, if somebody tallies.
    pub(crate) fn count(&self, life: impl FnOnce() -> Option<(&'static str, Life)>) {
        if self.events.hears(Interest::TALLY)
            && let Some((actor_type, life)) = life()
        {
            self.tallied.count(actor_type, life);
        }
    }

    /// Whether a subscriber or the log is told of this note.
    pub(crate) fn wants(&self, note: &Note<Failure>) -> bool {
        self.publishes(note) || contained(|| log::is_on_for(note)).unwrap_or(false)
    }

    /// Tells the subscribers of a note that an actor made about itself.
    pub(crate) fn publish_own(&self, note: Note<Failure>, actor: impl FnOnce() -> Whose) {
        if self.publishes(&note) {
            self.events.publish_own(actor(), note);
        }
    }

    /// Whether a subscriber is told of this note.
    fn publishes(&self, note: &Note<Failure>) -> bool {
        Interest::in_note(note).is_some_and(|kind| self.events.hears(kind))
    }

    /// Reports a note that an actor made about a child, if somebody [wants](Self::wants) it.
    pub(crate) fn note_of_child(&self, about: About<'_>, note: Note<Failure>) {
        let kept = match &note {
            Note::Decided { cause, outcome, .. } => Some(with_text(cause, |text| {
                let has_line = may_log()
                    && self.log(&about, &note, text) != Line::Missed
                    && log::level_of_line(*outcome, &about).is_some();
                let text = cut(text, LONGEST);
                self.failures().keep(about.uid, text, cause.during(), *outcome, about.rule, has_line)
            })),
            _ if may_log() => {
                self.log(&about, &note, "");
                None
            }
            _ => None,
        };
        if !self.publishes(&note) {
            return;
        }
        if let Note::Decided { cause, outcome: Outcome::LimitReached { .. } | Outcome::LimitEscalated, .. } = &note
        {
            self.events.publish(Event::LimitReached {
                supervisor: about.actor.clone(),
                child: about.child.clone().unwrap_or_else(|| about.actor.clone()),
                failure: cause.clone(),
                limit: about.limit,
                count: about.strategy.count,
                gave_up_after: about.gave_up_after,
            });
        }
        if let Some(event) = event_of_child(about, note, kept) {
            self.events.publish(event);
        }
    }

    /// Logs a note. `text` is that of the failure, for a decision.
    #[cold]
    pub(crate) fn log(&self, about: &About<'_>, note: &Note<Failure>, text: &str) -> Line {
        let line = self.line(about, note);
        if !told(|| log::note(about, note, text, line == Line::Missed)) {
            told(|| log::unsaid(&about.actor, about.child.as_ref()));
        }
        if line == Line::Last {
            told(|| log::failures_pause(&about.actor));
        }
        line
    }

    /// Whether a failure gets a line. Also logs how many others got none, if that is due.
    ///
    /// Rule 10.9.
    fn line(&self, about: &About<'_>, note: &Note<Failure>) -> Line {
        let mut line = Line::Own { missed: 0 };
        let Some(now) = about.now.filter(|_| logs()) else { return line };
        self.tell_missed(Some(now));
        if let Note::Decided { cause, outcome, .. } = note
            && let Some(level) = log::level_of_line(*outcome, about)
        {
            let supervisor = about.actor.clone();
            let kind =
                FailureGroup { supervisor, failure: cause.type_name(), outcome: outcome.in_a_word(), level };
            line = self.alike().count(kind, now);
        }
        line
    }

    fn tell_missed(&self, now: Option<Time>) {
        let over = self.alike().over(now);
        for (kind, missed) in over {
            told(|| log::failures_missed(&kind, missed));
        }
    }

    /// Never locked while a line is logged.
    fn alike(&self) -> MutexGuard<'_, Alike> {
        self.alike.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last failure of an actor, if it is still kept.
    pub(crate) fn last_failure(&self, actor: Uid) -> Option<LastFailure> {
        self.failures().of(actor).cloned()
    }

    /// Holds no user's value.
    fn failures(&self) -> MutexGuard<'_, Recent> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps lost messages for somebody who has asked for them (rule 10.10).
    pub(crate) fn keep_lost<S: 'static, M: Send + 'static>(
        &self,
        capacity: usize,
        split: fn(Box<dyn Any + Send>) -> Split,
    ) -> LostMessages<M> {
        self.keepers.keep::<S, M>(capacity, split)
    }

    /// The keeper of lost messages, if somebody has asked for those that are sent as an `S`.
    pub(crate) fn keeper<S: 'static>(&self) -> Option<Arc<Keeper>> {
        self.keepers.of::<S>()
    }

    /// Reports a dead letter. `now` is the time since the system began, or `None` while it is ending.
    pub(crate) fn dead_letter(
        &self,
        recipient: impl Fn() -> (ActorPath, Option<&'static str>),
        sender: impl FnOnce() -> Option<ActorPath>,
        lost: Lost,
        now: impl FnOnce() -> Option<Time>,
    ) {
        let heard = self.events.hears(Interest::DEAD_LETTERS);
        let loudness = self.loudness(&lost, || recipient().0, now);
        if !heard && loudness.is_none() && lost.kept.is_none() {
            return;
        }
        let Lost { message, reason, failures, deliveries, permitted, given_up, at_once, kept, .. } = lost;
        let (recipient, recipient_type) = recipient();
        let sender = if at_once { sender() } else { None };
        let letter =
            DeadLetter { recipient, recipient_type, sender, message, reason, failures, deliveries, permitted };
        if let Some(kept) = kept {
            kept.give(letter.clone());
        }
        match loudness {
            None => {}
            Some(LogLevel::Warn) => _ = told(|| log::quarantined(&letter, given_up)),
            Some(LogLevel::Info) => _ = told(|| log::dead_letter(&letter)),
            Some(_) => _ = told(|| log::quiet_dead_letter(&letter)),
        }
        if heard {
            self.events.publish(Event::DeadLetter(letter));
        }
    }

    /// The level at which a dead letter is logged, if at all. Also logs the summary lines that are due.
    ///
    /// Rule 10.4.
    fn loudness(
        &self,
        lost: &Lost,
        recipient: impl FnOnce() -> ActorPath,
        now: impl FnOnce() -> Option<Time>,
    ) -> Option<LogLevel> {
        let on = |level| contained(|| log::is_on_at(level)).unwrap_or(false);
        let quietly = || on(LogLevel::Debug).then_some(LogLevel::Debug);
        if lost.reason == DeadLetterReason::Quarantined {
            return on(LogLevel::Warn).then_some(LogLevel::Warn);
        }
        if lost.answered || lost.reason == DeadLetterReason::Abandoned || !on(LogLevel::Info) {
            return quietly();
        }
        let Some(now) = now() else {
            self.dead_letters().miss(lost.to, recipient);
            return quietly();
        };
        let (line, missed) = self.dead_letters().count(now, lost.to, recipient);
        match line {
            Line::Missed => return quietly(),
            Line::Own { .. } if missed.is_empty() => {}
            Line::Own { .. } => _ = told(|| log::dead_letters_missed(&missed)),
            Line::Last => _ = told(log::dead_letters_pause),
        }
        Some(LogLevel::Info)
    }

    /// Reports what an operator did.
    pub(crate) fn intervened(&self, actor: ActorPath, uid: Uid, what: Intervention, by: &str) {
        told(|| log::intervened(&actor, uid, what, by));
        if self.events.hears(Interest::FAILURES) {
            self.events.publish(Event::Intervened { actor, uid, what, by: by.into() });
        }
    }

    /// Reports what happened to another node. `line` says how the log reports it.
    #[cfg(feature = "remote")]
    pub(crate) fn node(&self, event: Event, line: Option<Line>) {
        if let Some(line) = line {
            told(|| log::node(&event, line));
        }
        if self.events.hears(Interest::FAILURES) {
            self.events.publish(event);
        }
    }

    /// Reports, at the end of a system, how many dead letters and failures got no line.
    pub(crate) fn end(&self) {
        self.keepers.end();
        self.tell_missed(None);
        let missed = self.dead_letters().take_missed();
        if !missed.is_empty() {
            told(|| log::dead_letters_missed(&missed));
        }
    }

    /// Never locked while a line is logged.
    fn dead_letters(&self) -> MutexGuard<'_, DeadLetterLines> {
        self.dead_letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event for a note that an actor made about a child. `text` is that of the failure, for a decision. `None`: the subscriber came
/// after the decision.
fn event_of_child(about: About<'_>, note: Note<Failure>, text: Option<Arc<str>>) -> Option<Event> {
    let supervisor = about.actor;
    let child = about.child.unwrap_or_else(|| supervisor.clone());
    Some(match note {
        Note::Decided { cause, outcome, .. } => Event::Decided {
            supervisor,
            supervisor_type: about.actor_type,
            supervisor_uid: about.actor_uid,
            child,
            child_type: about.child_type,
            uid: about.uid,
            failure: cause,
            text: text?,
            directive: *about.directive?,
            rule: about.rule,
            outcome,
            attempt: about.attempt,
            standing: about.standing,
        },
        Note::DeciderFailed { cause, about, .. } => {
            Event::DeciderFailed { supervisor, child, failure: cause, about }
        }
        Note::ReportDeferred(_) => Event::ReportDeferred { supervisor, child },
        Note::ReportDropped(_, failure) => Event::ReportDropped { supervisor, failure },
        _ => return None,
    })
}

/// Reports that the runtime's own code panicked.
pub(crate) fn cell_broke(actor: &ActorPath, failure: &Failure) {
    told(|| log::cell_broke(actor, failure));
}

/// Reports that the root guardian itself failed, so the system ends.
pub(crate) fn root_failed(failure: &Failure) {
    told(|| log::root_failed(failure));
}

/// Reports that the message store has failed or cannot be opened.
#[cfg(feature = "durable")]
pub(crate) fn store_failed(error: &str) {
    told(|| log::store_failed(error));
}

/// Reports that messages wait in a queue without an owner.
#[cfg(feature = "durable")]
pub(crate) fn queue_unowned(queue: &str, messages: u64) {
    told(|| log::queue_unowned(queue, messages));
}

/// Reports that a termination callback panicked.
pub(crate) fn termination_callback_failed(failure: &Failure) {
    told(|| log::termination_callback_failed(failure));
}

/// Reports that the process ends now, in the middle of a shutdown.
#[cfg(feature = "signal")]
pub(crate) fn second_signal(signal: &str) {
    told(|| log::second_signal(signal));
}

/// Reports that a pool stops because its last worker has ended, for this failure if there is one.
pub(crate) fn pool_is_empty(pool: &ActorPath, failure: Option<&Failure>) {
    told(|| log::pool_is_empty(pool, failure));
}

/// Reports that a backoff supervisor stops because it does not replace its child, which failed.
pub(crate) fn child_is_given_up(supervisor: &ActorPath, failure: &Failure) {
    told(|| log::child_is_given_up(supervisor, failure));
}

/// Reports that the coordinated shutdown begins.
pub(crate) fn shutdown_begins(reason: &dyn Display) {
    told(|| log::shutdown_begins(reason));
}

/// Reports that a task of the coordinated shutdown failed.
pub(crate) fn shutdown_task_failed(phase: &str, task: &str, failure: &Failure) {
    told(|| log::shutdown_task_failed(phase, task, failure));
}

/// Reports that a phase of the coordinated shutdown is skipped, and the tasks that it would have run.
pub(crate) fn shutdown_phase_skipped(phase: &str, tasks: &[&str]) {
    told(|| log::shutdown_phase_skipped(phase, tasks));
}

/// Reports which actors have not ended, though they were asked to stop.
pub(crate) fn still_stopping(waited: Duration, actors: &dyn Display) {
    told(|| log::still_stopping(waited, actors));
}

/// Reports that a phase of the coordinated shutdown took too long.
pub(crate) fn shutdown_phase_timed_out(phase: &str, timeout: Duration, tasks: &[String]) {
    told(|| log::shutdown_phase_timed_out(phase, timeout, tasks));
}

/// Whether there may be a log. This runs no code of a subscriber.
pub(crate) fn may_log() -> bool {
    log::may_be_on()
}

/// Whether there is a log. Without any subscriber, this calls no other code.
fn logs() -> bool {
    log::may_be_on() && contained(log::is_on).unwrap_or(false)
}

/// Runs `log`, and returns whether it did not panic. Invariant 1.
fn told(log: impl FnMut()) -> bool {
    contained_silently(log)
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    struct Payload {
        _token: Arc<()>,
        drop_panics: bool,
    }

    impl Drop for Payload {
        fn drop(&mut self) {
            assert!(!self.drop_panics, "as told");
        }
    }

    /// Invariant 1.
    #[test]
    fn what_a_subscriber_panics_with_is_dropped() {
        for drop_panics in [false, true] {
            let token = Arc::new(());
            assert!(!told(|| panic_any(Payload { _token: Arc::clone(&token), drop_panics })));
            assert_eq!(Arc::strong_count(&token), 1);
        }
    }
}
