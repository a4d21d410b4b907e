//! How often each of the actors that failed last has failed.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use supervise_core::{NodeState, Outcome};

use super::pace::{CALM, LOOP, Loop, Pace, may_be_loop, push_last};
use super::sight::{Budget, Counts, Decision, Sight, Time, is_near};

/// How many actors have their failures counted.
const MOST: usize = 4_096;
/// How many of them stay until they are [calm](Pace::calm_after). The others are those in a loop, and those that failed last. So a loop is
/// found even if more actors fail in turn than are remembered.
const STAY: usize = MOST / 2;
/// The order in which actors are forgotten: those that are calm or are in no loop, those in a loop, those that stay.
const OTHER: usize = 0;
const IN_LOOP: usize = 1;
const STAYING: usize = 2;
/// The failures of one actor.
#[derive(Debug)]
pub(super) struct Failing {
    /// How many failures there were since `first`.
    pub(super) failures: u64,
    /// The first failure after a calm time.
    pub(super) first: Time,
    pub(super) last: Time,
    pub(super) decision: Decision,
    /// When a failure brought it near a limit, and the size of that limit, unless it has not failed for a window of the limit since then.
    near: Option<(Time, u32)>,
    /// The window of that limit, as the last look found it.
    window: Option<Duration>,
    /// The times of the last failures.
    recent: VecDeque<Time>,
    restarts: Pace,
    /// In which of the orders it is, and its place in it.
    rank: usize,
    place: (Time, u64),
}

impl Failing {
    fn of(decision: Decision, rank: usize, now: Time) -> Self {
        Self {
            failures: 0,
            first: now,
            last: now,
            near: None,
            window: None,
            recent: VecDeque::with_capacity(LOOP),
            restarts: Pace::new(now),
            decision,
            rank,
            place: (now, 0),
        }
    }

    fn note(&mut self, decision: Decision, now: Time) {
        if now.saturating_sub(self.last) > CALM && self.restarts.is_over(now) {
            (self.failures, self.first) = (0, now);
        }
        let near = decision.used.filter(|&(used, of)| is_near(used, of)).map(|(_, of)| (now, of));
        let is_calm = |window| now.saturating_sub(self.last) > window;
        let is_other = |of| near.is_some_and(|(_, now_of)| now_of != of);
        self.near = self.near.filter(|&(_, of)| !self.window.is_some_and(is_calm) && !is_other(of)).or(near);
        push_last(&mut self.recent, LOOP, now);
        let delay = match decision.outcome {
            Outcome::Restarting { delay, .. } => Some(delay),
            Outcome::AlreadyAnswered => Some(None),
            _ => None,
        };
        if let Some(delay) = delay {
            let is_third = delay.is_some() && decision.attempt as usize >= LOOP;
            self.restarts.note(delay.unwrap_or_default(), is_third, now);
        }
        (self.failures, self.last, self.decision) = (self.failures + 1, now, decision);
    }

    /// Notes whether the actor has been restarted, and the window of its limit. Forgets that it was near the limit, if that is over.
    fn see(&mut self, sight: &Sight<'_>, now: Time) {
        // If it has failed since the look found it, it is about to wait.
        let is_up_to_date = sight.attempt >= self.decision.attempt;
        if is_up_to_date && matches!(sight.state, NodeState::Running | NodeState::Starting) {
            self.restarts.runs(now);
        }
        let Some(budget) = sight.budget else { return };
        if self.near.is_none() || self.was_near(budget) {
            self.window = budget.within;
        }
        let lasts = self.window.is_some_and(|window| now.saturating_sub(self.last) <= window);
        if !budget.is_near() && !lasts {
            self.near = None;
        }
    }

    /// The number of its last failure in a row. It is that of the last decision, so that a card does not mix two failures, unless the console
    /// has missed decisions.
    pub(super) fn attempt(&self, sight: &Sight<'_>) -> u32 {
        let known = self.decision.attempt;
        if sight.attempt > known.saturating_add(1) { sight.attempt } else { known }
    }

    /// When the actor is tried next. If the look found a failure whose event the console has not read yet, this is the time that
    /// follows from the failure before it, so that a card does not mix the two.
    pub(super) fn next_try(&self, sight: &Sight<'_>) -> Option<Time> {
        match self.decision.outcome {
            Outcome::Restarting { delay: Some(delay), .. }
                if sight.attempt == self.decision.attempt.saturating_add(1) =>
            {
                sight.due.map(|_| self.last.saturating_add(delay))
            }
            _ => sight.due,
        }
    }

    /// Whether it reaches its limit if it keeps failing as quickly as it did lately. Of the last failures, the two that were closest
    /// together set the pace, and none comes before the next try. A single failure sets no pace. If the failures of others count too, its own
    /// pace says nothing.
    pub(super) fn may_reach(&self, budget: Budget, sight: &Sight<'_>) -> bool {
        if budget.counts != Counts::Own {
            return true;
        }
        let pairs = self.recent.iter().zip(self.recent.iter().skip(1));
        let pace = pairs.map(|(&earlier, &later)| later.saturating_sub(earlier)).min().unwrap_or_default();
        let next = self.last.saturating_add(pace).max(self.next_try(sight).unwrap_or_default());
        // The failure that finds no restart left.
        let at = next.saturating_add(pace.saturating_mul(budget.of.saturating_sub(budget.used)));
        // If no restart counts yet, the window begins with the next failure.
        let anew_at = budget.anew_at.or_else(|| next.checked_add(budget.within?));
        let is_in_time = anew_at.is_none_or(|anew| at <= anew);
        // Of a sliding window, only the oldest restart leaves then.
        let fits = budget.slides && budget.within.is_none_or(|within| pace.saturating_mul(budget.of) <= within);
        is_in_time || fits
    }

    /// The failure that brought it near its limit.
    pub(super) fn near_since(&self) -> Time {
        self.near.map_or(self.last, |(at, _)| at)
    }

    /// Whether it was near this limit and has failed again within the limit's window since then. So an actor that keeps failing does not seem to be
    /// well each time the count starts anew.
    pub(super) fn stays_near(&self, budget: Budget, now: Time) -> bool {
        self.was_near(budget) && budget.within.is_some_and(|within| now.saturating_sub(self.last) <= within)
    }

    /// A limit is recognized by its size: the strategy and each rule may have one.
    fn was_near(&self, budget: Budget) -> bool {
        self.near.is_some_and(|(_, of)| of == budget.of)
    }

    /// Whether it restarts again and again.
    pub(super) fn is_loop(&self, sight: &Sight<'_>, now: Time) -> bool {
        self.restarts.is_loop(now) || (sight.due.is_some() && self.attempt(sight) as usize >= LOOP)
    }

    /// Its loop of restarts, if it is in one.
    pub(super) fn current_loop(&self, now: Time) -> Option<Loop> {
        self.restarts.current(now)
    }

    /// Since when it restarts again and again, if it does.
    pub(super) fn looping(&self) -> Time {
        self.restarts.looping().unwrap_or(self.first)
    }
}

#[derive(Debug, Default)]
pub(super) struct Failures {
    of: HashMap<u64, Failing>,
    /// The actors of each rank. The one that is calm first comes first, and then the one that failed first.
    orders: [BTreeMap<(Time, u64), u64>; 3],
    /// How many failures there were.
    number: u64,
    /// The last failure of an actor that is forgotten.
    forgot: Option<Time>,
}

impl Failures {
    pub(super) fn note(&mut self, decision: Decision, now: Time) {
        let key = decision.key;
        self.number += 1;
        if !self.of.contains_key(&key) {
            self.make_room(now);
            let rank = if self.orders[STAYING].len() < STAY { STAYING } else { OTHER };
            self.of.insert(key, Failing::of(decision.clone(), rank, now));
        }
        let Some(failing) = self.of.get_mut(&key) else { return };
        self.orders[failing.rank].remove(&failing.place);
        failing.note(decision, now);
        if failing.restarts.is_loop(now) {
            failing.rank = failing.rank.max(IN_LOOP);
        }
        failing.place = (failing.restarts.calm_after(now), self.number);
        self.orders[failing.rank].insert(failing.place, key);
    }

    /// Makes room for another actor.
    fn make_room(&mut self, now: Time) {
        for rank in [IN_LOOP, STAYING] {
            while let Some(first) = self.orders[rank].first_entry()
                && now > first.key().0
            {
                let (place, key) = first.remove_entry();
                self.orders[OTHER].insert(place, key);
                if let Some(failing) = self.of.get_mut(&key) {
                    failing.rank = OTHER;
                }
            }
        }
        if self.of.len() == MOST
            && let Some((_, key)) = self.orders.iter_mut().find_map(BTreeMap::pop_first)
            && let Some(gone) = self.of.remove(&key)
        {
            self.forgot = self.forgot.max(Some(gone.last));
        }
    }

    /// Whether an actor is forgotten that may be in a loop.
    pub(super) fn may_have_more(&self, now: Time) -> bool {
        may_be_loop(self.forgot, now)
    }

    /// Whether this actor may be one that is forgotten and has failed within the window of a limit that it shares and that is near.
    pub(super) fn may_be_near(&self, sight: &Sight<'_>, now: Time) -> bool {
        let is_within =
            |last, budget: Budget| budget.within.is_none_or(|within| now.saturating_sub(last) <= within);
        let near = sight.budget.filter(|budget| budget.counts != Counts::Own && budget.is_near());
        let may_be = near.zip(self.forgot).is_some_and(|(budget, last)| is_within(last, budget));
        may_be && !self.of.contains_key(&sight.key)
    }

    /// Notes what a look finds of an actor, and returns what is known of its failures.
    pub(super) fn see(&mut self, sight: &Sight<'_>, now: Time) -> Option<&Failing> {
        let known = self.of.get_mut(&sight.key)?;
        known.see(sight, now);
        Some(known)
    }

    pub(super) fn of(&self, key: u64) -> Option<&Failing> {
        self.of.get(&key)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }
}
