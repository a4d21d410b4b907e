//! Places in which failures end one actor after the other, because a backoff supervisor, keyed children or the program replace each of them.
//! Each of these actors has failed only once, so none of them is in a restart loop by itself.
//!
//! Rule 22.3.

use std::collections::HashMap;
use std::time::Duration;

use super::cards::{Card, Kind, Moment, subject, text_of};
use super::pace::{LOOP, Loop, Pace, may_be_loop};
use super::sight::{Decision, Replacement, Time};
use super::words::{Count, Ordinal, Span, code, outcome, short_type};

/// How many places are remembered.
const MOST: usize = 256;
/// How many of them stay until they are calm. The others are those that failed last. So a loop is found even if more places fail in turn
/// than are remembered.
const STAY: usize = MOST / 2;
/// What the subjects of cards about places begin with.
const PLACE: &str = "place ";

/// A place, and the failures that ended its actors.
#[derive(Debug)]
struct Place {
    ends: u64,
    /// The first one after a calm time, and the last one.
    first: Time,
    last: Time,
    pace: Pace,
    /// Whether it stays until it is calm.
    stays: bool,
    /// The last of these failures.
    decision: Decision,
    /// Whether the actor that failed last was a pool or a backoff supervisor that gave up its last child.
    gave_up: bool,
    /// The earlier loop of the actor that failed last, or of the children that it gave up. It goes on if the actor is replaced.
    before: Option<Before>,
    /// What a backoff supervisor does about it: the delay of the replacement, and how many times in a row a child has ended.
    replaced: Option<(Duration, u32)>,
}

/// A loop that goes on in a place, and the subjects of the cards that it had before.
#[derive(Debug, Clone)]
struct Before {
    former: Loop,
    subjects: Vec<String>,
}

impl Place {
    fn of(decision: Decision, stays: bool, now: Time) -> Self {
        let mut pace = Pace::new(now);
        pace.note(Duration::ZERO, false, now);
        Self {
            ends: 1,
            first: now,
            last: now,
            pace,
            stays,
            decision,
            gave_up: false,
            before: None,
            replaced: None,
        }
    }

    fn is_calm(&self, now: Time) -> bool {
        // An actor that has not started yet may fail at once.
        now > self.pace.calm_after(self.pace.restarted())
    }

    /// Whether another actor takes the place after a delay.
    fn waits(&self, now: Time) -> bool {
        self.pace.restarted() > now
    }

    fn note(&mut self, decision: Decision, now: Time) {
        // If another supervisor has taken the name of the earlier one, the failures below the earlier one do not count.
        if self.is_calm(now) || decision.supervisor_key != self.decision.supervisor_key {
            *self = Self::of(decision, self.stays, now);
            return;
        }
        // The actor that fails has taken the place, perhaps before the delay was over.
        self.pace.runs(now);
        (self.gave_up, self.replaced) = (false, None);
        self.pace.note(Duration::ZERO, false, now);
        (self.ends, self.last, self.decision) = (self.ends + 1, now, decision);
    }

    /// The loop that goes on above this place, if its supervisor is given up now.
    fn hands_over(&self, now: Time) -> Option<Before> {
        let before = self.before.as_ref();
        let mut subjects = before.map_or_else(Vec::new, |before| before.subjects.clone());
        let own = self.pace.current(now);
        if own.is_some() {
            subjects.push(self.subject());
        }
        let former = own.or(before.map(|before| before.former))?;
        // The supervisor has run at least for as long as this loop.
        Some(Before { former: Loop { ran: now.saturating_sub(former.began), ..former }, subjects })
    }

    fn subject(&self) -> String {
        format!("{PLACE}{}", self.decision.child_type)
    }

    fn card(&self, now: Time) -> Card {
        let Decision { child, child_type, supervisor, rule, .. } = &self.decision;
        let code = code(&self.decision).map_or_else(String::new, |code| format!(" in {code}"));
        let within = Span(self.last.saturating_sub(self.first).max(Duration::from_secs(1)));
        let failed = match (self.ends, &*code) {
            (1, code) => format!("Failed{code}"),
            (ends, "") => format!("Failed {} times within {within}", Count(ends)),
            (ends, code) => format!("Failed {} times within {within}, the last time{code}", Count(ends)),
        };
        let ended = match (self.gave_up, self.ends) {
            (false, 1) => "The failure ended the actor",
            (false, _) => "Each failure ended the actor",
            (true, 1) => "It gave up its last child",
            (true, _) => "Each time it gave up its last child",
        };
        let rule = rule.map_or_else(String::new, |rule| format!(", rule `{rule}`"));
        let decides = format!("{supervisor} decides{rule}: {}", outcome(self.decision.outcome));
        let then = match self.replaced {
            None if self.gave_up => ", and another one took its place before the next time.".to_owned(),
            None => format!(", and another one took its place before the next. {decides}."),
            Some((delay, in_a_row)) => {
                let (delay, in_a_row) = (Span(delay), Ordinal(in_a_row));
                let replaces = if self.gave_up {
                    format!("{supervisor} replaces it after {delay}")
                } else {
                    format!("{decides}, and replaced after {delay}")
                };
                format!(". {replaces}. That was the {in_a_row} end in a row.")
            }
        };
        let says = format!("{failed}. {ended}{then}");
        let next = self.pace.restarted();
        Card {
            kind: Kind::RestartLoop,
            actors: 1,
            path: child.clone(),
            actor_type: short_type(child_type),
            subject: self.subject(),
            since: self.pace.looping(),
            says,
            moments: vec![if next > now { Moment::next_try(next) } else { Moment::last(self.last) }],
            cause: text_of(&self.decision),
            weight: self.ends,
            near_limit: false,
            at_least: false,
            goes: None,
        }
    }
}

/// The places in which failures ended actors.
#[derive(Debug, Default)]
pub(super) struct Places {
    of: Vec<Place>,
    /// The last time at which a place was forgotten although it was not calm. For a place in a loop that waits, it is the end of its delay.
    forgot: Option<Time>,
}

/// The supervisors of places that are in a loop or wait, and the actors for which places wait, as a look finds them. `None`: it is not there.
#[derive(Debug, Default)]
pub(super) struct Sought(HashMap<String, Option<Found>>);

#[derive(Debug, Clone, Copy)]
struct Found {
    key: u64,
    /// Whether the actor runs, and all above it.
    runs: bool,
}

impl Sought {
    /// `runs`: whether the actor runs, and all above it.
    pub(super) fn see(&mut self, path: &str, key: u64, runs: bool) {
        if !self.0.is_empty()
            && let Some(known) = self.0.get_mut(path)
        {
            *known = Some(Found { key, runs });
        }
    }

    fn found(&self, path: &str) -> Option<Found> {
        *self.0.get(path)?
    }

    /// The supervisor of this place, but not another one that has taken its name.
    fn supervisor_of(&self, place: &Place) -> Option<Found> {
        let Decision { supervisor, supervisor_key, .. } = &place.decision;
        self.found(supervisor).filter(|found| found.key == *supervisor_key)
    }
}

impl Places {
    /// `before`: the loop in which the actor was.
    pub(super) fn note(&mut self, decision: &Decision, before: Option<Loop>, now: Time) {
        if decision.ended() {
            let subjects = vec![subject(decision.child_type, None)];
            self.ended(decision, now).before = before.map(|former| Before { former, subjects });
        }
    }

    /// Notes that a pool or a backoff supervisor gave up its last child, as if its own failure had ended it. The places of its children are
    /// forgotten.
    pub(super) fn gave_up(&mut self, decision: &Decision, now: Time) {
        let below = self.of.iter().filter(|place| place.decision.supervisor == decision.child);
        let before = below.filter_map(|place| place.hands_over(now)).min_by_key(|before| before.former.began);
        self.of.retain(|place| place.decision.supervisor != decision.child);
        let place = self.ended(decision, now);
        (place.gave_up, place.before) = (true, before);
    }

    fn ended(&mut self, decision: &Decision, now: Time) -> &mut Place {
        if let Some(at) = self.of.iter().position(|place| place.decision.child == decision.child) {
            self.of[at].note(decision.clone(), now);
            return &mut self.of[at];
        }
        if self.of.len() == MOST {
            self.forget(now);
        }
        if self.of.len() == MOST {
            let may_go = self.of.iter().enumerate().filter(|(_, place)| !place.stays);
            let least = may_go.min_by_key(|(_, place)| (place.pace.is_loop(now), place.last));
            let gone = self.of.swap_remove(least.map_or(0, |(at, _)| at));
            let waits_until = if gone.pace.is_loop(now) { gone.pace.restarted() } else { now };
            self.forgot = self.forgot.max(Some(waits_until.max(now)));
        }
        let stays = self.of.iter().filter(|place| place.stays).count() < STAY;
        let at = self.of.len();
        self.of.push(Place::of(decision.clone(), stays, now));
        &mut self.of[at]
    }

    /// Notes that another actor takes a place after a delay.
    pub(super) fn delay(&mut self, replacement: &Replacement, now: Time) {
        let Replacement { child, delay, attempt, failures } = replacement;
        let is_loop = *failures as usize >= LOOP;
        if let Some(place) = self.of.iter_mut().find(|place| place.decision.child == *child) {
            place.pace.delay(*delay, is_loop, now);
            if let Some(before) = &place.before {
                place.pace.goes_on(before.former);
            }
            place.replaced = Some((*delay, *attempt));
        } else if is_loop {
            self.forgot = self.forgot.max(Some(now.saturating_add(*delay)));
        }
    }

    /// When this backoff supervisor replaces its child, if it waits.
    pub(super) fn next_child(&self, supervisor: &str, now: Time) -> Option<Time> {
        let waiting = self.of.iter().find(|place| place.decision.supervisor == supervisor && place.waits(now));
        waiting.map(|place| place.pace.restarted())
    }

    pub(super) fn forget(&mut self, now: Time) {
        self.of.retain(|place| !place.is_calm(now));
    }

    /// Whether a place was forgotten that may be in a loop.
    pub(super) fn may_have_more(&self, now: Time) -> bool {
        may_be_loop(self.forgot, now)
    }

    fn loops(&self, now: Time) -> impl Iterator<Item = &Place> {
        self.of.iter().filter(move |place| place.pace.is_loop(now))
    }

    /// What a look has to find.
    pub(super) fn sought(&self, now: Time) -> Sought {
        let is_sought = |place: &&Place| place.pace.is_loop(now) || place.waits(now);
        let supervisors = self.of.iter().filter(is_sought).map(|place| &place.decision.supervisor);
        let awaited = self.of.iter().filter(|place| place.waits(now)).map(|place| &place.decision.child);
        Sought(supervisors.chain(awaited).map(|path| (path.clone(), None)).collect())
    }

    /// Notes what a look has found: supervisors that have ended, so that their loops are over; and actors that have taken their place early.
    pub(super) fn found(&mut self, sought: &Sought, now: Time) {
        // If the last failure came during the look, the look may have found what was there before the failure.
        let is_seen = |place: &Place| place.last < now && sought.0.contains_key(&place.decision.supervisor);
        self.of.retain(|place| !is_seen(place) || sought.supervisor_of(place).is_some());
        for place in self.of.iter_mut().filter(|place| is_seen(place)) {
            if sought.found(&place.decision.child).is_some_and(|found| found.runs) {
                place.pace.runs(now);
            }
        }
    }

    /// The subjects of all loops, including those whose supervisor does not run, and the subjects that the loops had before.
    pub(super) fn subjects(&self, now: Time) -> impl Iterator<Item = (Kind, String)> {
        let before = |place: &Place| place.before.as_ref().map_or_else(Vec::new, |before| before.subjects.clone());
        let subjects = move |place: &Place| before(place).into_iter().chain([place.subject()]);
        self.loops(now).flat_map(subjects).map(|subject| (Kind::RestartLoop, subject))
    }

    /// A card for the loops of one type whose supervisors run. It tells of the worst one. `is_down`: nobody has taken this place after a limit.
    pub(super) fn cards(&self, sought: &Sought, is_down: impl Fn(&str) -> bool, now: Time) -> Vec<Card> {
        let mut cards: Vec<Card> = Vec::new();
        let goes_on = |place: &&Place| {
            sought.supervisor_of(place).is_some_and(|found| found.runs) && !is_down(&place.decision.child)
        };
        for place in self.loops(now).filter(goes_on) {
            let subject = place.subject();
            match cards.iter_mut().find(|card| card.subject == subject) {
                Some(card) => {
                    let actors = card.actors + 1;
                    if place.ends > card.weight {
                        *card = place.card(now);
                    }
                    card.actors = actors;
                }
                None => cards.push(place.card(now)),
            }
        }
        cards
    }
}

/// Whether a card with this subject is about a place. Such a loop goes on although a failure has ended the actor.
#[cfg(feature = "tracing")]
pub(super) fn is_of_place(subject: &str) -> bool {
    subject.starts_with(PLACE)
}
