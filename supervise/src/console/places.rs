//! Places in which failures end one actor after the other, because a backoff supervisor, keyed children or the program replace each of them.
//! Each of these actors has failed only once, so none of them is in a restart loop by itself.
//!
//! Rule 22.3.

use std::collections::VecDeque;
use std::time::Duration;

use supervise_core::{During, Outcome};

use super::cards::{Card, Kind, Moment, text_of};
use super::failing::{CALM, LOOP, QUICKLY};
use super::sight::{Decision, Time};
use super::words::{Count, Span, outcome, short_type};

/// How many places are remembered.
const MOST: usize = 256;
/// A loop is over when this many times the last gap has passed without another failure. From one attempt to the next, a backoff at most doubles
/// the gap.
const PATIENCE: u32 = 3;
/// What the subjects of cards about places begin with.
const PLACE: &str = "place ";

/// A place, and the failures that ended its actors.
#[derive(Debug)]
struct Place {
    ends: u64,
    /// The first one after a calm time, and the last one.
    first: Time,
    last: Time,
    /// The time between the last two.
    gap: Duration,
    recent: VecDeque<Time>,
    is_loop: bool,
    decision: Decision,
}

impl Place {
    fn of(decision: Decision, now: Time) -> Self {
        let recent = VecDeque::from([now]);
        Self { ends: 1, first: now, last: now, gap: Duration::ZERO, recent, is_loop: false, decision }
    }

    fn is_calm(&self, now: Time) -> bool {
        now.saturating_sub(self.last) > self.gap.saturating_mul(PATIENCE).clamp(QUICKLY, CALM)
    }

    fn note(&mut self, decision: Decision, now: Time) {
        if self.is_calm(now) {
            *self = Self::of(decision, now);
            return;
        }
        if self.recent.len() == LOOP {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        let first = self.recent.front().copied().unwrap_or(now);
        self.is_loop |= self.recent.len() == LOOP && now.saturating_sub(first) <= QUICKLY;
        self.gap = now.saturating_sub(self.last);
        (self.ends, self.last, self.decision) = (self.ends + 1, now, decision);
    }

    fn subject(&self) -> String {
        let Decision { child_type, during, .. } = self.decision;
        format!("{PLACE}{child_type} {}", during.map_or("", During::name))
    }

    fn card(&self) -> Card {
        let Decision { child, child_type, supervisor, rule, .. } = &self.decision;
        let during =
            self.decision.during.map_or_else(String::new, |during| format!(", the last time in `{during}`"));
        let within = Span(self.last.saturating_sub(self.first).max(Duration::from_secs(1)));
        let rule = rule.map_or_else(String::new, |rule| format!(", rule `{rule}`"));
        let (ends, decided) = (Count(self.ends), outcome(self.decision.outcome));
        Card {
            kind: Kind::RestartLoop,
            actors: 1,
            path: child.clone(),
            actor_type: short_type(child_type),
            subject: self.subject(),
            since: Some(self.first),
            says: format!(
                "Failed {ends} times within {within}{during}. Each time it was ended, and another actor took its place. \
                 {supervisor} decides{rule}: {decided}."
            ),
            moments: vec![Moment::last(self.last)],
            cause: text_of(&self.decision),
            weight: self.ends,
            near_limit: false,
            goes: None,
        }
    }
}

/// The places in which failures ended actors last.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<Place>);

impl Places {
    pub(super) fn note(&mut self, decision: &Decision, now: Time) {
        if !matches!(decision.outcome, Outcome::Stopped { .. } | Outcome::LimitReached { .. }) {
            return;
        }
        if let Some(place) = self.0.iter_mut().find(|place| place.decision.child == decision.child) {
            return place.note(decision.clone(), now);
        }
        if self.0.len() == MOST {
            let least = self.0.iter().enumerate().min_by_key(|(_, place)| (place.is_loop, place.last));
            self.0.swap_remove(least.map_or(0, |(at, _)| at));
        }
        self.0.push(Place::of(decision.clone(), now));
    }

    pub(super) fn forget(&mut self, now: Time) {
        self.0.retain(|place| !place.is_calm(now));
    }

    /// Forgets the places below an actor that has ended.
    pub(super) fn forget_below(&mut self, actor: &str) {
        self.0.retain(|place| place.decision.supervisor != actor);
    }

    /// A card for the loops of one type in the same code. It tells of the worst one.
    pub(super) fn cards(&self, now: Time) -> Vec<Card> {
        let mut cards: Vec<Card> = Vec::new();
        for place in self.0.iter().filter(|place| place.is_loop && !place.is_calm(now)) {
            let subject = place.subject();
            match cards.iter_mut().find(|card| card.subject == subject) {
                Some(card) => {
                    let actors = card.actors + 1;
                    if place.ends > card.weight {
                        *card = place.card();
                    }
                    card.actors = actors;
                }
                None => cards.push(place.card()),
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
