//! How long to wait before a restart: plain arithmetic on counts and times.
//!
//! Rules 7.8 and 7.9.

use std::time::Duration;

use super::Time;

/// A delay before a restart, growing with each consecutive failure of the same child.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Backoff {
    /// How the delay grows.
    pub growth: Growth,
    /// When the count of consecutive failures is reset.
    pub reset: Reset,
    /// How long a child may go on failing before it is given up.
    pub give_up_after: Option<Duration>,
}

/// How a delay grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Growth {
    /// `min · 2^k` for the k-th consecutive failure, counted from 0, at most `max`. A random share of up to `jitter` is
    /// added.
    Exponential {
        /// The first delay.
        min: Duration,
        /// The cap, before jitter.
        max: Duration,
        /// The largest random share that is added, `0.0..=1.0`.
        jitter: f64,
    },
    /// `initial · n` for the n-th failure; the count is cleared when the last failure is older than `window`
    /// (Proto.Actor's strategy).
    Linear {
        /// The first delay and the step.
        initial: Duration,
        /// How long a failure counts.
        window: Duration,
    },
}

/// When the count of consecutive failures is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// When a restarted child has not failed for this long. While its starts fail, it has not run, and the count goes on.
    After(Duration),
    /// Only when the child asks for it.
    Manual,
}

impl Backoff {
    /// Doubles from `min` to `max`, and starts again from `min` when a child has not failed for `max`. So in the long run, a
    /// child that fails again and again restarts about once per `max`, however long after each start it fails.
    ///
    /// # Panics
    ///
    /// If `min` is zero or longer than `max`.
    #[track_caller]
    pub const fn exponential(min: Duration, max: Duration) -> Self {
        assert!(!min.is_zero(), "the shortest delay of a backoff must be longer than zero");
        assert!(
            min.as_nanos() <= max.as_nanos(),
            "the shortest delay of a backoff must not be longer than the longest: write a smaller `min` or a larger `max`"
        );
        Self {
            growth: Growth::Exponential { min, max, jitter: 0.0 },
            reset: Reset::After(max),
            give_up_after: None,
        }
    }

    /// A delay of `count · initial`, as in Proto.Actor. The count is cleared when the last failure is older than
    /// `window`.
    ///
    /// # Panics
    ///
    /// If either is zero.
    #[track_caller]
    pub const fn linear(window: Duration, initial: Duration) -> Self {
        assert!(!initial.is_zero() && !window.is_zero(), "a backoff's window and step must be longer than zero");
        Self { growth: Growth::Linear { initial, window }, reset: Reset::After(window), give_up_after: None }
    }

    /// Adds a random share of up to `jitter` to each delay.
    ///
    /// # Panics
    ///
    /// If `jitter` is not within `0.0..=1.0`, or the growth is linear.
    #[track_caller]
    pub const fn jitter(mut self, jitter: f64) -> Self {
        assert!(jitter >= 0.0 && jitter <= 1.0, "the jitter of a backoff lies between 0.0 and 1.0");
        match &mut self.growth {
            Growth::Exponential { jitter: own, .. } => *own = jitter,
            Growth::Linear { .. } => panic!("a linear backoff has no jitter"),
        }
        self
    }

    /// Resets the count when the child has not failed for `quiet`.
    ///
    /// # Panics
    ///
    /// If the child is [given up](Self::give_up_after) sooner.
    #[track_caller]
    pub const fn reset_after(mut self, quiet: Duration) -> Self {
        self.reset = Reset::After(quiet);
        self.checked()
    }

    /// Gives a child up that goes on failing: a failure that comes `limit` or more after the first one of its streak is not answered by a
    /// restart, but as [`OnLimit`](crate::OnLimit) says. A quiet time ends the streak. Limits of the number of restarts apply beside it.
    ///
    /// Rule [7.13](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.13).
    ///
    /// # Panics
    ///
    /// If `limit` is not longer than the longest delay and the quiet time, or the growth is linear.
    #[track_caller]
    pub const fn give_up_after(mut self, limit: Duration) -> Self {
        self.give_up_after = Some(limit);
        self.checked()
    }

    #[track_caller]
    const fn checked(self) -> Self {
        if let Some(limit) = self.give_up_after {
            assert!(
                self.may_give_up_after(limit),
                "`give_up_after` must be longer than `max` and `reset_after`: write a longer time (a linear backoff cannot give up)"
            );
        }
        self
    }

    /// Whether this time is allowed. It must not be over when the child has its second chance at the longest delay, or was quiet.
    pub(crate) const fn may_give_up_after(&self, limit: Duration) -> bool {
        let longest = match self.growth {
            Growth::Exponential { max, .. } => max,
            Growth::Linear { .. } => return false,
        };
        let is_longer_than_quiet = match self.reset {
            Reset::After(quiet) => limit.as_nanos() > quiet.as_nanos(),
            Reset::Manual => true,
        };
        limit.as_nanos() > longest.as_nanos() && is_longer_than_quiet
    }

    /// Resets the count only when the child asks for it.
    pub const fn manual_reset(mut self) -> Self {
        self.reset = Reset::Manual;
        self
    }

    /// The delay of the k-th consecutive failure, `k` starting at 0. `draw` lies in `[0, 1)`.
    pub fn delay(&self, k: u32, draw: f64) -> Duration {
        match self.growth {
            Growth::Exponential { min, max, jitter } => {
                let doubled = 1_u32.checked_shl(k).and_then(|factor| min.checked_mul(factor)).unwrap_or(max);
                let capped = doubled.min(max);
                capped.saturating_add(capped.mul_f64((draw * jitter).clamp(0.0, 1.0)))
            }
            Growth::Linear { initial, .. } => initial.saturating_mul(k.saturating_add(1)),
        }
    }
}

/// The consecutive failures of one child under a backoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BackoffCount {
    count: u32,
    /// The time of the first of them.
    began: Option<Time>,
    /// When the last delayed restart was due.
    last_due: Option<Time>,
    /// The time of the last failure.
    last_failure: Option<Time>,
    /// How many times the child had begun to run by the last failure.
    runs: u8,
    /// Whether the child was given up at its last failure.
    gave_up: bool,
}

/// Whether a child that keeps failing is started once more.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// It is.
    Again,
    /// The child has been failing for longer than [`Backoff::give_up_after`] allows.
    GiveUp,
}

impl BackoffCount {
    /// Counts a failure at `now` of a child that ran, and returns the delay of the restart.
    pub fn failed(&mut self, backoff: &Backoff, now: Time, draw: f64) -> Duration {
        self.failed_as(self.count_at(backoff, now), backoff, now, draw)
    }

    /// Like [`failed`](Self::failed), for a child that has begun to run `runs` times.
    pub fn failed_in_run(&mut self, runs: u8, backoff: &Backoff, now: Time, draw: f64) -> Duration {
        self.runs = runs;
        self.failed(backoff, now, draw)
    }

    /// Counts a failed start. `runs` says how many times the child has begun to run. If that is as many times as at its last
    /// failure, it did not run in between: however long the start took to fail, it was not a quiet time.
    ///
    /// If it ran, the quiet time is at least the longest delay, because an actor below the child may have taken long to
    /// fail.
    pub fn failed_to_start(&mut self, runs: u8, backoff: &Backoff, now: Time, draw: f64) -> Duration {
        let count = self.count_of_starts(runs, backoff, now);
        self.runs = runs;
        self.failed_as(count, backoff, now, draw)
    }

    /// As [`count_at`](Self::count_at), for a failed start of a child that has begun to run `runs` times.
    fn count_of_starts(&self, runs: u8, backoff: &Backoff, now: Time) -> u32 {
        match backoff.growth {
            Growth::Linear { .. } => self.count_at(backoff, now),
            Growth::Exponential { .. } if runs == self.runs => self.count,
            Growth::Exponential { max, .. } => self.count_after(max, backoff, now),
        }
    }

    /// Whether the child is started once more after a failure at `now`. A failure that comes when the child has been failing for too
    /// long is not counted. For a failed start, `start` says how many times the child has begun to run.
    ///
    /// Rule [7.13](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.13).
    pub fn attempt(&mut self, start: Option<u8>, backoff: &Backoff, now: Time) -> Attempt {
        let in_a_row = match start {
            Some(runs) => self.count_of_starts(runs, backoff, now),
            None => self.count_at(backoff, now),
        };
        self.gave_up = match (backoff.give_up_after, self.began) {
            (Some(limit), Some(began)) => in_a_row > 0 && now.saturating_sub(began) >= limit,
            _ => false,
        };
        if self.gave_up { Attempt::GiveUp } else { Attempt::Again }
    }

    /// Whether the child was given up at its last failure.
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up
    }

    fn failed_as(&mut self, count: u32, backoff: &Backoff, now: Time, draw: f64) -> Duration {
        if count == 0 {
            self.began = Some(now);
        }
        self.count = count;
        let delay = backoff.delay(self.count, draw);
        self.count = self.count.saturating_add(1);
        self.last_failure = Some(now);
        self.last_due = Some(now.saturating_add(delay));
        delay
    }

    /// Resets the count.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// How many consecutive failures count at `now`: 0 after a quiet time.
    pub fn count_at(&self, backoff: &Backoff, now: Time) -> u32 {
        self.count_after(Duration::ZERO, backoff, now)
    }

    /// The count, or 0 after the quiet time. The quiet time is that of the backoff, but at least `least`.
    fn count_after(&self, least: Duration, backoff: &Backoff, now: Time) -> u32 {
        let forgotten = match (backoff.growth, backoff.reset) {
            (Growth::Linear { window, .. }, _) => {
                self.last_failure.is_some_and(|last| now.saturating_sub(last) >= window)
            }
            (Growth::Exponential { .. }, Reset::After(quiet)) => {
                self.last_due.is_some_and(|due| now.saturating_sub(due) >= quiet.max(least) && now >= due)
            }
            (Growth::Exponential { .. }, Reset::Manual) => false,
        };
        if forgotten { 0 } else { self.count }
    }

    /// The time of the last failure.
    pub fn last_failure(&self) -> Option<Time> {
        self.last_failure
    }

    /// How many consecutive failures were counted.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn exponential_delays_double_up_to_the_cap() {
        let backoff = Backoff::exponential(seconds(3), seconds(30));
        let delays: Vec<_> = (0..6).map(|k| backoff.delay(k, 0.0).as_secs()).collect();
        assert_eq!(delays, [3, 6, 12, 24, 30, 30]);
    }

    #[test]
    fn jitter_comes_on_top_of_the_cap() {
        let backoff = Backoff::exponential(seconds(3), seconds(30)).jitter(0.2);
        assert_eq!(backoff.delay(10, 1.0), seconds(36));
        assert_eq!(backoff.delay(10, 0.0), seconds(30));
    }

    #[test]
    fn a_start_that_takes_its_time_to_fail_is_not_quiet() {
        let backoff = Backoff::exponential(seconds(1), seconds(8));
        let mut count = BackoffCount::default();
        let mut now = seconds(0);
        let mut delays = Vec::new();
        for _ in 0..5 {
            let delay = count.failed_to_start(0, &backoff, now, 0.0);
            delays.push(delay.as_secs());
            // Each start takes longer to fail than the longest delay.
            now += delay + seconds(9);
        }
        assert_eq!(delays, [1, 2, 4, 8, 8]);
        assert_eq!(count.failed_to_start(1, &backoff, now, 0.0), seconds(1), "it ran in between");
    }

    #[test]
    fn the_delay_grows_for_a_child_that_fails_some_time_after_each_start() {
        let backoff = Backoff::exponential(seconds(1), seconds(8));
        let mut count = BackoffCount::default();
        let mut now = seconds(0);
        let mut delays = Vec::new();
        for _ in 0..5 {
            let delay = count.failed(&backoff, now, 0.0);
            delays.push(delay.as_secs());
            // Each time it runs without a failure for longer than any delay except the longest.
            now += delay + seconds(7);
        }
        assert_eq!(delays, [1, 2, 4, 8, 8]);
        assert_eq!(count.failed(&backoff, now + seconds(1), 0.0), seconds(1), "it was well for the longest delay");
    }

    #[test]
    fn an_overflowing_delay_is_the_cap() {
        let backoff = Backoff::exponential(seconds(3), seconds(30));
        for k in [31, 32, 33, 64, u32::MAX] {
            assert_eq!(backoff.delay(k, 0.0), seconds(30), "k = {k}");
        }
    }

    #[test]
    fn a_quiet_child_starts_anew() {
        let backoff = Backoff::exponential(seconds(1), seconds(8)).reset_after(seconds(5));
        let mut count = BackoffCount::default();
        assert_eq!(count.failed(&backoff, seconds(0), 0.0), seconds(1));
        assert_eq!(count.failed(&backoff, seconds(2), 0.0), seconds(2));
        // Restarted at 4, quiet until 9: that is long enough.
        assert_eq!(count.failed(&backoff, seconds(9), 0.0), seconds(1));
        // Restarted at 10, failed at 14: it is not.
        assert_eq!(count.failed(&backoff, seconds(14), 0.0), seconds(2));
    }

    /// Rule 7.13.
    #[test]
    fn a_child_that_goes_on_failing_is_given_up() {
        let backoff = Backoff::exponential(seconds(1), seconds(8)).give_up_after(seconds(60));
        let mut count = BackoffCount::default();
        let mut now = seconds(5);
        let mut failures = 0;
        while count.attempt(None, &backoff, now) == Attempt::Again {
            now += count.failed(&backoff, now, 0.0) + seconds(2);
            failures += 1;
            assert!(now < seconds(200), "it is never given up");
        }
        // The first failure was at 5, so the first one at 65 or later is refused: the delays are 1, 2, 4, 8, 8, 8, 8 and 8 s.
        assert_eq!((now.as_secs(), failures), (68, 8));
        assert!(count.gave_up());
        // What was refused was not counted, so the child has been quiet since its last restart.
        assert_eq!(count.attempt(None, &backoff, now + seconds(8)), Attempt::Again);
        assert!(!count.gave_up());
    }

    /// Rule 7.13: that a start takes its time to fail does not end the streak.
    #[test]
    fn a_child_that_cannot_start_is_given_up() {
        let backoff = Backoff::exponential(seconds(1), seconds(8)).give_up_after(seconds(60));
        let mut count = BackoffCount::default();
        let mut now = seconds(0);
        while count.attempt(Some(0), &backoff, now) == Attempt::Again {
            now += count.failed_to_start(0, &backoff, now, 0.0) + seconds(15);
            assert!(now < seconds(200), "it is never given up");
        }
        assert_eq!(now.as_secs(), 16 + 17 + 19 + 23);
        assert_eq!(count.attempt(Some(1), &backoff, now), Attempt::Again, "it has run in between");
    }

    #[test]
    fn a_time_after_which_a_child_is_given_up_leaves_room_for_its_delays() {
        let backoff = Backoff::exponential(seconds(1), seconds(8));
        assert!(!backoff.may_give_up_after(seconds(8)));
        assert!(backoff.may_give_up_after(seconds(9)));
        assert!(!backoff.reset_after(seconds(9)).may_give_up_after(seconds(9)));
        assert!(backoff.manual_reset().may_give_up_after(seconds(9)));
        assert!(!Backoff::linear(seconds(2), seconds(1)).may_give_up_after(seconds(60)));
    }

    #[test]
    fn failures_in_a_row_are_counted() {
        let backoff = Backoff::exponential(seconds(1), seconds(8));
        let mut count = BackoffCount::default();
        for second in [0, 1, 2] {
            count.failed(&backoff, seconds(second), 0.0);
        }
        assert_eq!(count.count(), 3);
    }

    #[test]
    fn a_manual_count_is_never_forgotten() {
        let backoff = Backoff::exponential(seconds(1), seconds(60)).manual_reset();
        let mut count = BackoffCount::default();
        assert_eq!(count.failed(&backoff, seconds(0), 0.0), seconds(1));
        assert_eq!(count.failed(&backoff, seconds(9_999), 0.0), seconds(2));
        count.reset();
        assert_eq!(count.failed(&backoff, seconds(10_000), 0.0), seconds(1));
    }

    #[test]
    fn the_linear_count_is_cleared_past_its_window() {
        // Window 2 s, step 1 s, failing again as soon as restarted: 1, 2, 1, 2 s.
        let backoff = Backoff::linear(seconds(2), seconds(1));
        let mut count = BackoffCount::default();
        let mut now = seconds(0);
        let mut delays = Vec::new();
        for _ in 0..4 {
            let delay = count.failed(&backoff, now, 0.0);
            delays.push(delay.as_secs());
            now += delay;
        }
        assert_eq!(delays, [1, 2, 1, 2]);
    }
}
