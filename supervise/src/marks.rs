//! What earlier looks found out about busy actors: how long a state has lasted, and how old messages are.
//!
//! 1. An actor that runs, handles nothing and has nothing waiting leaves no mark. So the memory depends on the load and not on
//!    the size of the system. At most [`MOST`] marks are kept. Actors that wait in a message and have an empty mailbox, as in a long poll,
//!    leave room for [`RESERVED`] others.
//! 2. Times are exact to within the time between two looks: what a look found, and the look before did not, began between the
//!    two.
//!
//! Rule 22.2.

use std::collections::{HashMap, VecDeque};

use supervise_core::NodeState;

use super::sight::{Sight, Time};

/// How many busy actors are followed at a time.
const MOST: usize = 131_072;
/// How many of them are left to actors that do not just wait.
const RESERVED: usize = 16_384;
/// How many arrivals are remembered for one mailbox, and for one of more than [`RESERVED`] busy actors.
const ARRIVALS: usize = 64;
const ARRIVALS_OF_MANY: usize = 8;

/// What is known about one busy actor.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    /// The last look that found it.
    look: u64,
    state: NodeState,
    handled: u32,
    waiting: usize,
    /// The first look that found it in its state.
    pub(super) state_since: Time,
    /// The first look that found it in the message that it handles.
    pub(super) message_since: Option<Time>,
    /// The first of the consecutive looks that found it in this message and not at an await point.
    pub(super) awake_since: Option<Time>,
    /// At how many consecutive looks more messages waited than at the look before.
    pub(super) grew: u32,
    arrivals: Arrivals,
}

/// How old a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Age {
    pub(super) about: Time,
    pub(super) at_most: Time,
}

impl Mark {
    fn new(sight: &Sight<'_>, now: Time) -> Self {
        Self {
            look: 0,
            state: sight.state,
            handled: sight.handled(),
            waiting: sight.waiting,
            state_since: now,
            message_since: None,
            awake_since: None,
            grew: 0,
            arrivals: Arrivals::default(),
        }
    }

    /// `most`: how many arrivals are remembered.
    fn see(&mut self, sight: &Sight<'_>, most: usize, before: Time, now: Time) {
        let handled = sight.handled();
        if self.state != sight.state {
            self.state = sight.state;
            self.state_since = now;
        }
        let same = self.handled == handled;
        let since = |known: Option<Time>, holds: bool| holds.then(|| known.filter(|_| same).unwrap_or(now));
        self.message_since = since(self.message_since, sight.handling);
        self.awake_since = since(self.awake_since, sight.handling && !sight.parked);
        self.grew = if sight.waiting > self.waiting { self.grew.saturating_add(1) } else { 0 };
        self.handled = handled;
        self.waiting = sight.waiting;
        self.arrivals.note(sight.pushed, handled, most, before, now);
    }

    /// How old the oldest waiting message is.
    pub(super) fn oldest(&self, now: Time) -> Option<Age> {
        let first = self.arrivals.0.front()?;
        let about = first.about(self.handled.wrapping_add(1));
        Some(Age { about: now.saturating_sub(about), at_most: now.saturating_sub(first.not_before) })
    }
}

/// When the messages that still wait arrived.
#[derive(Debug, Clone, Default)]
struct Arrivals(VecDeque<Arrival>);

/// The messages that one look found to be new, or those of several looks together.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    /// The number of the last message that arrived before these, and the number of the last of these, counted as
    /// `pushed` counts. The two are equal if nothing waited before these came.
    before: u32,
    last: u32,
    /// The look before the one that first saw these messages.
    not_before: Time,
    seen: Time,
}

impl Arrival {
    /// When one of these messages arrived. This assumes that they came at a steady rate, so that the age of the
    /// oldest message does not jump when the actor takes the last message of one look. If nothing waited before
    /// these messages, they may be as new as the look.
    fn about(&self, number: u32) -> Time {
        let all = self.last.wrapping_sub(self.before);
        let later = self.last.wrapping_sub(number);
        if later >= all {
            return self.seen;
        }
        self.seen.saturating_sub(self.seen.saturating_sub(self.not_before) * later / all)
    }
}

impl Arrivals {
    fn note(&mut self, pushed: u32, handled: u32, most: usize, before: Time, now: Time) {
        while self.0.front().is_some_and(|first| !is_after(first.last, handled)) {
            self.0.pop_front();
        }
        let last = self.0.back().map_or(pushed, |arrival| arrival.last);
        if is_after(pushed, handled) && (self.0.is_empty() || is_after(pushed, last)) {
            self.0.push_back(Arrival { before: last, last: pushed, not_before: before, seen: now });
        }
        for _ in most..self.0.len() {
            self.join_two();
        }
    }

    /// Joins the two arrivals that are closest together, so that no message seems to have come during a long pause
    /// before it. The age of the oldest message stays exact.
    fn join_two(&mut self) {
        let pairs = self.0.iter().zip(self.0.iter().skip(1)).enumerate().skip(1);
        let spans = pairs.map(|(at, (first, second))| (second.seen.saturating_sub(first.not_before), at));
        if let Some((_, at)) = spans.min()
            && let Some(second) = self.0.remove(at + 1)
            && let Some(first) = self.0.get_mut(at)
        {
            (first.last, first.seen) = (second.last, second.seen);
        }
    }
}

/// Whether one number of a message comes after another. The numbers wrap.
fn is_after(number: u32, other: u32) -> bool {
    (1..=u32::MAX / 2).contains(&number.wrapping_sub(other))
}

fn is_idle(sight: &Sight<'_>) -> bool {
    sight.state == NodeState::Running && !sight.handling && sight.waiting == 0
}

/// Whether it waits at an await point and has an empty mailbox.
fn just_waits(sight: &Sight<'_>) -> bool {
    sight.state == NodeState::Running && sight.parked && sight.waiting == 0
}

/// The marks of all busy actors.
#[derive(Debug, Default)]
pub(super) struct Marks {
    of: HashMap<u64, Mark>,
    look: u64,
    /// When the previous look began.
    before: Time,
    /// How many busy actors the look could not follow.
    pub(super) unfollowed: usize,
}

impl Marks {
    pub(super) fn begin(&mut self) {
        self.look += 1;
        self.unfollowed = 0;
    }

    /// Returns the actor's mark. `None` if it is not busy, or if too many actors are busy.
    pub(super) fn see(&mut self, sight: &Sight<'_>, now: Time) -> Option<&Mark> {
        if is_idle(sight) {
            return None;
        }
        if !self.has_room(sight) {
            self.unfollowed += 1;
            return None;
        }
        let most = self.arrivals();
        let mark = self.of.entry(sight.key).or_insert_with(|| Mark::new(sight, now));
        mark.look = self.look;
        mark.see(sight, most, self.before, now);
        Some(mark)
    }

    fn has_room(&self, sight: &Sight<'_>) -> bool {
        let most = if just_waits(sight) { MOST - RESERVED } else { MOST };
        self.of.len() < most || self.of.contains_key(&sight.key)
    }

    /// How many arrivals are remembered for one mailbox.
    fn arrivals(&self) -> usize {
        if self.of.len() > RESERVED { ARRIVALS_OF_MANY } else { ARRIVALS }
    }

    /// The mark that a look would leave now. Remembers nothing.
    pub(super) fn peek(&self, sight: &Sight<'_>, now: Time) -> Option<Mark> {
        if is_idle(sight) || !self.has_room(sight) {
            return None;
        }
        let mut mark = self.of.get(&sight.key).cloned().unwrap_or_else(|| Mark::new(sight, now));
        let grew = mark.grew;
        mark.see(sight, self.arrivals(), self.before, now);
        Some(Mark { grew, ..mark })
    }

    /// Forgets the actors that the look did not find busy.
    pub(super) fn end(&mut self, now: Time) {
        let look = self.look;
        self.of.retain(|_, mark| mark.look == look);
        self.before = now;
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }
}

#[cfg(test)]
mod tests;
