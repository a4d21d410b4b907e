//! Measures a system by looks, by the tally, and by events.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use metrics::SharedString;
use supervise_core::{
    ActorSystem, During, Event, Events, Glimpse, Interest, Lives, NodeState, Outcome, Selection, Tally,
};

use super::books::Books;
use super::paths::Paths;
use super::series::{self, describe};
use super::times::Times;
use super::wraps::Wraps;
use crate::marks::Marks;
use crate::sight::{EVENTS_AT_ONCE, Sight};

/// An actor is stuck if it is in one message for this long while others wait.
const STUCK: Duration = Duration::from_secs(5);
/// An actor blocks a thread if it is in one message for this long without being at an await point.
const BLOCKING: Duration = Duration::from_secs(1);

const STATES: [&str; 6] = ["starting", "running", "failed", "backoff", "suspended", "stopping"];

/// Measures a system when it is told to. [`Metrics::by_hand`](super::Metrics::by_hand) makes it.
///
/// Ages are exact to within the time between two looks, so look often. A system may publish 4096 events between
/// two looks before some are missed, and counted as such.
pub struct Meter {
    system: ActorSystem,
    events: Events,
    tally: Tally,
    marks: Marks,
    wraps: Wraps,
    paths: Paths,
    times: Times,
    books: Books,
    /// How many messages the actors of each type have handled, including those that have ended.
    messages: HashMap<&'static str, u64>,
    took: Duration,
}

/// What a look found out about the actors of one type.
#[derive(Debug, Default)]
struct Found {
    states: [usize; STATES.len()],
    messages: u64,
    waiting: usize,
    fullest: usize,
    stashed: usize,
    oldest: Duration,
    handling: Duration,
    busy: usize,
    stuck: usize,
    blocking: usize,
    used: f64,
}

impl Meter {
    pub(super) fn new(system: &ActorSystem, paths: Vec<Selection>, times: Times) -> Self {
        times.begin(system);
        let mut books = Books::new(system.name());
        books.add(series::MISSED, Vec::new(), 0);
        let mut meter = Self {
            system: system.clone(),
            events: system.events().subscribe_to(Interest::FAILURES | Interest::DEAD_LETTERS),
            tally: system.tally(),
            marks: Marks::default(),
            wraps: Wraps::default(),
            paths: Paths::new(paths),
            times,
            books,
            messages: HashMap::new(),
            took: Duration::ZERO,
        };
        meter.begin_here();
        meter
    }

    /// Begins with the present values, because an earlier meter of the system may have reported what led to them.
    fn begin_here(&mut self) {
        self.enter_lives();
        self.see_all();
        self.times.enter(&self.system, &mut self.books);
        self.books.begin_here();
    }

    /// Takes in the events since the last look, looks at each actor, and tells the recorder. Once the system has
    /// ended, all gauges are 0.
    ///
    /// It takes time in proportion to the number of actors. None of them is held up for longer than it takes to list 1024 children
    /// (rule [24.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-24.1)).
    pub fn look(&mut self) {
        // If events come faster than they are counted, the others are left for the next look.
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = self.events.try_recv() else { break };
            self.happened(&event);
        }
        let began = Instant::now();
        self.books.clear_gauges();
        // Before the look, so that no actor is counted twice: an actor that ends during the look is counted at the
        // next one.
        self.enter_lives();
        let types = self.see_all();
        self.times.enter(&self.system, &mut self.books);
        if !self.system.has_terminated() {
            self.enter_gauges(&types);
            self.took = began.elapsed();
            self.books.gauge(series::LOOK, Vec::new(), self.took.as_secs_f64());
        }
        describe();
        self.books.tell();
    }

    /// How long the last look took.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    pub(super) fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    /// Enters what the tally has counted. The totals of messages do not yet include those of living actors.
    fn enter_lives(&mut self) {
        let mut totals: HashMap<&'static str, Lives> = HashMap::new();
        for (actor_type, lives) in self.tally.lives() {
            let total = totals.entry(label(actor_type)).or_default();
            total.started += lives.started;
            total.restarted += lives.restarted;
            total.aborted += lives.aborted;
            total.messages += lives.messages;
            for (reason, ended) in lives.ended {
                *total.ended.entry(reason).or_default() += ended;
            }
        }
        self.messages.clear();
        for (actor, lives) in totals {
            let of = || vec![SharedString::from(actor)];
            self.books.total(series::STARTED, of(), lives.started);
            self.books.total(series::RESTARTS, of(), lives.restarted);
            self.books.total(series::ABORTED, of(), lives.aborted);
            for (reason, ended) in lives.ended {
                self.books.total(series::ENDED, vec![actor.into(), reason.into()], ended);
            }
            self.messages.insert(actor, lives.messages);
        }
    }

    fn see_all(&mut self) -> HashMap<&'static str, Found> {
        let now = self.system.uptime();
        let mut types: HashMap<&'static str, Found> = HashMap::new();
        self.marks.begin();
        self.wraps.begin();
        self.paths.begin();
        let Self { system, marks, wraps, paths, books, times, .. } = self;
        system.look(|glimpse| {
            if times.is_on() {
                glimpse.time_next();
            }
            let sight = Sight::of(glimpse, None);
            let actor = label(sight.actor_type);
            let found = types.entry(actor).or_default();
            found.states[state(glimpse)] += 1;
            found.messages += wraps.whole(sight.key, actor, sight.handled());
            found.waiting += sight.waiting;
            found.stashed += sight.stashed;
            found.busy += usize::from(sight.handling);
            found.fullest = found.fullest.max(sight.waiting);
            let of_rule = glimpse.standing_of_rule().map(|(_, standing)| standing);
            for standing in glimpse.standing().into_iter().chain(of_rule).filter(|standing| standing.of > 0) {
                found.used = found.used.max(f64::from(standing.used) / f64::from(standing.of));
            }
            if let Some(mark) = marks.see(&sight, now) {
                let oldest = mark.oldest(now).map(|age| age.about);
                found.oldest = found.oldest.max(oldest.unwrap_or_default());
                let handling = since(mark.message_since, now);
                found.handling = found.handling.max(handling);
                found.stuck += usize::from(handling >= STUCK && sight.waiting > 0);
                found.blocking += usize::from(since(mark.awake_since, now) >= BLOCKING);
            }
            paths.see(sight.key, sight.handled(), glimpse, books);
        });
        self.paths.end();
        self.wraps.end();
        self.marks.end(now);
        for (&actor, found) in &types {
            *self.messages.entry(actor).or_default() += found.messages;
        }
        for (&actor, &messages) in &self.messages {
            let total = messages + self.wraps.of_ended(actor);
            self.books.total(series::MESSAGES, vec![actor.into()], total);
        }
        types
    }

    fn enter_gauges(&mut self, types: &HashMap<&'static str, Found>) {
        for (&actor, found) in types {
            for (state, &actors) in STATES.iter().zip(&found.states) {
                self.books.gauge(series::ACTORS, vec![actor.into(), (*state).into()], float(actors));
            }
            let gauges = [
                (series::MAILBOX, float(found.waiting)),
                (series::MAILBOX_MAX, float(found.fullest)),
                (series::STASH, float(found.stashed)),
                (series::OLDEST, found.oldest.as_secs_f64()),
                (series::HANDLING, found.handling.as_secs_f64()),
                (series::BUSY, float(found.busy)),
                (series::STUCK, float(found.stuck)),
                (series::BLOCKING, float(found.blocking)),
                (series::BUDGET, found.used),
            ];
            for (series, value) in gauges {
                self.books.gauge(series, vec![actor.into()], value);
            }
        }
    }

    pub(super) fn happened(&mut self, event: &Event) {
        match event {
            Event::Decided { supervisor_type, child, child_type, uid, failure, rule, outcome, .. } => {
                let actor = SharedString::from(label(child_type));
                let during = failure.during().map_or("none", During::name);
                let values = vec![
                    actor.clone(),
                    label(failure.type_name()).into(),
                    during.into(),
                    name_of(*outcome).into(),
                ];
                self.books.add(series::FAILURES, values, 1);
                if let Some(rule) = rule {
                    self.books.add(series::RULES, vec![label(supervisor_type).into(), (*rule).into()], 1);
                }
                if let Outcome::Restarting { delay: Some(delay), .. } = outcome {
                    self.books.observe(series::BACKOFF, vec![actor], delay.as_secs_f64());
                }
                self.paths.failed((*uid).into(), child.local(), &mut self.books);
            }
            Event::DeadLetter(letter) => {
                let actor = letter.recipient_type.map_or("none", label);
                self.books.add(series::DEAD_LETTERS, vec![actor.into(), letter.reason.name().into()], 1);
            }
            Event::Missed(missed) => self.books.add(series::MISSED, Vec::new(), *missed),
            _ => {}
        }
    }
}

/// If no other meter times messages, none is timed any more.
impl Drop for Meter {
    fn drop(&mut self) {
        self.times.end(&self.system);
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("system", &self.system).finish_non_exhaustive()
    }
}

/// A type's path, without its parameters.
pub(super) fn label(type_name: &'static str) -> &'static str {
    match type_name.split_once('<') {
        Some((path, _)) if !path.is_empty() => path,
        _ => type_name,
    }
}

fn since(when: Option<Duration>, now: Duration) -> Duration {
    when.map_or(Duration::ZERO, |when| now.saturating_sub(when))
}

/// The place of its state in [`STATES`].
fn state(glimpse: &Glimpse) -> usize {
    match glimpse.state() {
        NodeState::Starting => 0,
        NodeState::Failed | NodeState::Suspended if glimpse.due().is_some() => 3,
        NodeState::Failed => 2,
        NodeState::Suspended => 4,
        NodeState::Stopping => 5,
        // The look uses no other field.
        _ => 1,
    }
}

fn name_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Resumed => "resumed",
        Outcome::Restarting { delay: None, .. } => "restarted",
        Outcome::Restarting { delay: Some(_), .. } => "delayed",
        Outcome::Stopped { .. } => "stopped",
        Outcome::LimitReached { .. } | Outcome::LimitEscalated => "limit",
        Outcome::Escalated => "escalated",
        Outcome::AlreadyAnswered => "answered",
        _ => "unknown",
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
pub(super) fn float(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use crate::sight::REASONS;

    /// Rule 24.3.
    #[test]
    fn every_reason_of_a_dead_letter_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = REASONS.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), REASONS.len(), "{names:?}");
    }
}
