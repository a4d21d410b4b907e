//! Counts the consecutive failures of a child, for people who read the log. No decision depends on this count.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use super::Time;
use super::backoff::{Backoff, Growth, Reset};
use super::settings::Strategy;

/// The consecutive failures of one child. They are counted only while the log or a subscriber receives
/// failures.
///
/// Rule 10.6.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Streak {
    failures: u32,
    /// The last moment at which a failure belongs to the streak.
    until: Time,
    /// The streak is that of a backoff: a failure without a delay does not make it last longer.
    of_backoff: bool,
}

/// No decision depends on it.
impl Hash for Streak {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// If there is neither a backoff nor a window, a streak ends when the child has not failed for this long.
const QUIET: Duration = Duration::from_secs(60);

/// What decides how long a streak lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) strategy: &'a Strategy,
    /// The backoff that the rule or the strategy declares.
    pub(crate) backoff: Option<Backoff>,
}

impl Streak {
    /// How many failures there were in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure at `now`. `delayed` is the delay of its restart and how many failures in a row the backoff counts.
    pub(crate) fn failed(&mut self, settings: Settings<'_>, now: Time, delayed: Option<(Duration, u32)>) {
        let goes_on = self.failures > 0 && now <= self.until;
        let (delay, failures) = match delayed {
            Some(delayed) => delayed,
            None if goes_on => (Duration::ZERO, self.failures.saturating_add(1)),
            None => (Duration::ZERO, 1),
        };
        let of_backoff = if delayed.is_some() { settings.backoff.is_some() } else { goes_on && self.of_backoff };
        let keeps = delayed.is_none() && of_backoff;
        let until = if keeps { self.until } else { settings.until(now, delay) };
        *self = Self { failures, until, of_backoff };
    }
}

impl Settings<'_> {
    /// The last moment at which a failure belongs to the streak of a failure at `now`, whose restart waits for `delay`.
    fn until(self, now: Time, delay: Duration) -> Time {
        let due = now.saturating_add(delay);
        let Some(backoff) = self.backoff else {
            return due.saturating_add(self.strategy.limit.within.unwrap_or(QUIET));
        };
        // A failure exactly when this time is over begins a new streak.
        let over = match (backoff.growth, backoff.reset) {
            (Growth::Linear { window, .. }, _) => now.saturating_add(window),
            (Growth::Exponential { .. }, Reset::After(quiet)) => due.saturating_add(quiet),
            (Growth::Exponential { .. }, Reset::Manual) => return Time::MAX,
        };
        over.saturating_sub(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_row_ends_with_a_quiet_time() {
        let mut row = Streak::default();
        let mut counted = |strategy: &Strategy, second| {
            row.failed(Settings { strategy, backoff: None }, seconds(second), None);
            row.failures()
        };
        let plain = Strategy::one_for_one();
        assert_eq!([0, 1, 61, 122].map(|second| counted(&plain, second)), [1, 2, 3, 1]);
        let window = plain.within(seconds(10));
        assert_eq!([200, 210, 221].map(|second| counted(&window, second)), [1, 2, 1]);
        let plain = Settings { strategy: &plain, backoff: None };
        row.failed(plain, seconds(300), Some((seconds(100), 7)));
        assert_eq!(row.failures(), 7, "rule 5.3 counts failed starts by itself");
        row.failed(plain, seconds(430), None);
        assert_eq!(row.failures(), 8, "it has been restarted for 30 s");
    }

    #[test]
    fn under_a_backoff_its_count_and_its_quiet_time_apply() {
        let strategy = Strategy::one_for_one();
        let numbers = |backoff: Backoff, failures: &[(u64, Option<(u64, u32)>)]| -> Vec<u32> {
            let mut row = Streak::default();
            let settings = Settings { strategy: &strategy, backoff: Some(backoff) };
            let failed = |&(second, delayed): &(u64, Option<(u64, u32)>)| {
                row.failed(settings, seconds(second), delayed.map(|(delay, count)| (seconds(delay), count)));
                row.failures()
            };
            failures.iter().map(failed).collect()
        };
        let backoff = Backoff::exponential(seconds(1), seconds(5));
        let failures =
            [(0, Some((5, 9))), (8, None), (9, None), (10, None), (11, Some((1, 1))), (16, None), (17, None)];
        assert_eq!(numbers(backoff, &failures), [9, 10, 11, 1, 1, 2, 1]);
        assert_eq!(numbers(backoff.manual_reset(), &[(0, Some((5, 9))), (9_999, None)]), [9, 10]);
        let linear = Backoff::linear(seconds(4), seconds(1));
        assert_eq!(numbers(linear, &[(0, Some((1, 1))), (3, None), (4, None)]), [1, 2, 1]);
    }
}
