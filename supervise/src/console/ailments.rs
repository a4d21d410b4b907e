//! What is wrong with an actor.
//!
//! Rule 22.3.

use std::time::Duration;

use supervise_core::NodeState;

use super::cards::Kind;
use super::failing::Failing;
use super::marks::Mark;
use super::pace::{LOOP, QUICKLY};
use super::sight::{Budget, Counts, Sight, Time};
use super::waits::Waits;

/// An actor is stuck if it waits in the same message for this long and other messages wait.
const STUCK: Duration = Duration::from_secs(5);
/// Actors are in a deadlock if they have waited for each other for this long.
const DEADLOCK: Duration = Duration::from_secs(1);
/// An actor blocks a thread if its handler has not reached an await point for this long.
const BLOCKS: Duration = Duration::from_secs(1);
/// How long a start or an end may take.
const SLOW_START: Duration = Duration::from_secs(5);
const SLOW_END: Duration = Duration::from_secs(10);
/// An actor falls behind if at least this many messages wait and their number grows at each look, or if a message waits for this long.
const MANY_WAIT: usize = 1_000;
const LONG_WAIT: Duration = Duration::from_secs(10);
const GROWS: u32 = 3;

/// Everything that is wrong with an actor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ailments {
    /// The problem that is shown for the actor.
    pub(super) worst: Option<Kind>,
    /// A bit for each kind of problem, including those that are not shown because the actor has a worse one, or because it starts or stops.
    all: u16,
}

impl Ailments {
    /// `counts`: the problem is shown, unless there is a worse one. The worst problems come first.
    fn add(&mut self, kind: Kind, holds: bool, counts: bool) {
        if holds {
            self.all |= 1 << kind as u16;
            self.worst = self.worst.or(Some(kind).filter(|_| counts));
        }
    }

    pub(super) fn has(self, kind: Kind) -> bool {
        self.all & (1 << kind as u16) != 0
    }

    /// The problems that are not shown.
    pub(super) fn hidden(self) -> impl Iterator<Item = Kind> {
        Kind::OF_ACTORS.into_iter().filter(move |&kind| self.has(kind) && self.worst != Some(kind))
    }
}

/// What is wrong with an actor. `is_upheld`: all actors above it run, so that its failures are answered.
pub(super) fn ailments(
    sight: &Sight<'_>,
    mark: Option<&Mark>,
    failing: Option<&Failing>,
    waits: &Waits,
    is_upheld: bool,
    now: Time,
) -> Ailments {
    let lasted =
        |since: Option<Time>, long: Duration| since.is_some_and(|since| now.saturating_sub(since) >= long);
    let since = mark.map(|mark| mark.state_since);
    let is_loop = is_loop(sight, failing, since, now);
    let starts = sight.state == NodeState::Starting && !is_loop;
    let stops = sight.state == NodeState::Stopping;
    let is_there = !starts && !stops;
    let mut found = Ailments::default();
    found.add(Kind::SlowStart, starts && lasted(since, SLOW_START), true);
    found.add(Kind::SlowEnd, stops && lasted(since, SLOW_END), true);
    if let Some(mark) = mark {
        found.add(Kind::BlocksThread, lasted(mark.awake_since, BLOCKS), is_there);
        let in_circle = waits.is_in_circle(sight.key) && lasted(mark.message_since, DEADLOCK);
        found.add(Kind::Deadlock, in_circle, is_there);
        let holds_up = sight.waiting > 0 || waits.is_awaited(sight.key);
        // The last look knows for whom the actor waits, if it found the actor in this message for long.
        let is_known = sight.waits_for.is_empty() || waits.get(sight.key).is_some();
        let stuck = holds_up && is_known && lasted(mark.message_since, STUCK);
        found.add(Kind::Stuck, stuck, is_there);
    }
    found.add(Kind::RestartLoop, is_loop, is_there && is_upheld);
    let behind = mark.is_some_and(|mark| falls_behind(sight, mark, now));
    found.add(Kind::FallingBehind, behind, sight.state == NodeState::Running);
    found.add(Kind::NearLimit, is_near_limit(sight, failing, now), is_there);
    found
}

/// Whether it restarts again and again. If nothing is known of its failures, their number in a row tells, while it waits for a restart or has just
/// begun to start. `since`: since when it has been in its state.
fn is_loop(sight: &Sight<'_>, failing: Option<&Failing>, since: Option<Time>, now: Time) -> bool {
    let starts = || {
        let lasts = since.map(|since| now.saturating_sub(since));
        sight.state == NodeState::Starting && lasts.is_some_and(|lasts| lasts <= QUICKLY)
    };
    let unknown = || sight.attempt as usize >= LOOP && (sight.due.is_some() || starts());
    failing.map_or_else(unknown, |failing| failing.is_loop(sight, now))
}

/// Whether at most one restart is left, or was when it last failed often, unless the actor fails too rarely to reach its limit. If the failures of
/// others use up the limit too, only the actors that have failed themselves within its window are near it.
pub(super) fn is_near_limit(sight: &Sight<'_>, failing: Option<&Failing>, now: Time) -> bool {
    let stays = |budget: Budget| failing.is_some_and(|failing| failing.stays_near(budget, now));
    let Some(budget) = sight.budget.filter(|&budget| budget.is_near() || stays(budget)) else { return false };
    if budget.counts == Counts::Own {
        return failing.is_none_or(|failing| failing.may_reach(budget, sight));
    }
    let counts = |failing: &Failing| budget.within.is_none_or(|within| now.saturating_sub(failing.last) <= within);
    failing.is_some_and(counts)
}

fn falls_behind(sight: &Sight<'_>, mark: &Mark, now: Time) -> bool {
    let bound = sight.capacity.map_or(MANY_WAIT, |capacity| MANY_WAIT.min(capacity.div_ceil(5).saturating_mul(4)));
    let grows = sight.waiting >= bound.max(1) && mark.grew >= GROWS;
    let is_full = sight.capacity.is_some_and(|capacity| sight.waiting >= capacity && capacity >= 2);
    let full = is_full && mark.message_since.is_some_and(|since| now.saturating_sub(since) >= STUCK);
    grows || full || mark.oldest(now).is_some_and(|age| age.about >= LONG_WAIT)
}
