//! Whether an actor restarts so often, or the actors of a place end so often, that this is a loop.
//!
//! Rule 22.3.

use std::collections::VecDeque;
use std::time::Duration;

use super::sight::Time;

/// This many restarts within [`QUICKLY`] are a loop.
pub(super) const LOOP: usize = 3;
pub(super) const QUICKLY: Duration = Duration::from_secs(60);
/// No loop lasts for longer than this without another restart.
pub(super) const CALM: Duration = Duration::from_secs(10 * 60);
/// How many times as long as before the last restart an actor runs until a loop is over. From one attempt to the next, a backoff at most
/// doubles the time.
const PATIENCE: u32 = 3;

/// The last restarts, or ends.
#[derive(Debug)]
pub(super) struct Pace {
    recent: VecDeque<Time>,
    /// When the loop began, if there has been one.
    looping: Option<Time>,
    /// When the last restart came, or comes.
    restarted: Time,
    /// How long the actor had run before it failed for the last time.
    ran: Duration,
}

/// A loop that goes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loop {
    pub(super) began: Time,
    /// How long the actor had run before it failed for the last time.
    pub(super) ran: Duration,
}

impl Pace {
    pub(super) fn new(now: Time) -> Self {
        Self { recent: VecDeque::with_capacity(LOOP), looping: None, restarted: now, ran: Duration::ZERO }
    }

    /// Notes a failure, and the delay of the restart that follows. `is_loop`: this is a loop, however long ago the others were.
    pub(super) fn note(&mut self, delay: Duration, is_loop: bool, now: Time) {
        if self.is_over(now) {
            self.recent.clear();
            self.looping = None;
        }
        push_last(&mut self.recent, LOOP, now);
        let first = self.recent.front().copied();
        let is_quick = |first: &Time| self.recent.len() == LOOP && now.saturating_sub(*first) <= QUICKLY;
        self.looping = self.looping.or(first.filter(is_quick));
        self.ran = now.saturating_sub(self.restarted);
        self.delay(delay, is_loop, now);
    }

    /// Notes the delay of the restart that follows the last failure.
    pub(super) fn delay(&mut self, delay: Duration, is_loop: bool, now: Time) {
        self.restarted = self.restarted.max(now.saturating_add(delay));
        self.looping = self.looping.or(self.recent.front().copied().filter(|_| is_loop));
    }

    /// The loop, if there is one.
    pub(super) fn current(&self, now: Time) -> Option<Loop> {
        self.looping.filter(|_| !self.is_over(now)).map(|began| Loop { began, ran: self.ran })
    }

    /// Notes that a loop of other actors goes on here.
    pub(super) fn goes_on(&mut self, Loop { began, ran }: Loop) {
        self.looping = Some(self.looping.map_or(began, |known| known.min(began)));
        self.ran = self.ran.max(ran);
    }

    /// When the last restart came, or comes.
    pub(super) fn restarted(&self) -> Time {
        self.restarted
    }

    /// Notes that a look has found the actor running or starting. The restart has come early if its delay was ended.
    pub(super) fn runs(&mut self, now: Time) {
        self.restarted = self.restarted.min(now);
    }

    /// Whether nothing has failed for so long that a loop is over. Without a loop, whether what failed before begins none.
    pub(super) fn is_over(&self, now: Time) -> bool {
        now > self.over_after()
    }

    fn over_after(&self) -> Time {
        let patience = self.looping.map_or(CALM, |_| self.ran.saturating_mul(PATIENCE).clamp(QUICKLY, CALM));
        self.restarted.saturating_add(patience)
    }

    pub(super) fn is_loop(&self, now: Time) -> bool {
        self.looping.is_some() && !self.is_over(now)
    }

    /// When the loop began, if there has been one.
    pub(super) fn looping(&self) -> Option<Time> {
        self.looping
    }

    /// The time after which any loop is over and the failure at `last` can no longer begin one.
    pub(super) fn calm_after(&self, last: Time) -> Time {
        let over_after = self.looping.map_or(Time::ZERO, |_| self.over_after());
        over_after.max(last.saturating_add(QUICKLY))
    }
}

/// Adds a time to the last ones, of which at most so many are kept.
pub(super) fn push_last(times: &mut VecDeque<Time>, most: usize, now: Time) {
    if times.len() == most {
        times.pop_front();
    }
    times.push_back(now);
}

/// Whether something that was forgotten at this time may still be in a loop.
pub(super) fn may_be_loop(forgot: Option<Time>, now: Time) -> bool {
    forgot.is_some_and(|at| now.saturating_sub(at) <= CALM)
}
