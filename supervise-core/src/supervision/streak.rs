//! Counts the consecutive failures of a child, for people who read the log. No decision depends on this count.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use super::Time;
use super::settings::Strategy;

/// The consecutive failures of one child. They are counted only while the log or a subscriber receives
/// failures.
///
/// Rule 10.6.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Streak {
    failures: u32,
    /// When the last failure happened, or when its delayed restart is due.
    well_since: Time,
}

/// No decision depends on it.
impl Hash for Streak {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// If there is neither a backoff nor a window, a streak ends when the child has not failed for this long.
const QUIET: Duration = Duration::from_secs(60);

impl Streak {
    /// How many failures there were in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure at `now`. `delayed` is the delay of its restart and how many failures in a row the backoff counts.
    pub(crate) fn failed(&mut self, strategy: &Strategy, now: Time, delayed: Option<(Duration, u32)>) {
        let quiet = strategy.limit.within.unwrap_or(QUIET);
        let goes_on = self.failures > 0 && now.saturating_sub(self.well_since) <= quiet;
        let (delay, failures) = match delayed {
            Some(delayed) => delayed,
            None if goes_on => (Duration::ZERO, self.failures.saturating_add(1)),
            None => (Duration::ZERO, 1),
        };
        *self = Self { failures, well_since: now.saturating_add(delay) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_ends_with_a_quiet_time() {
        let mut row = Streak::default();
        let mut counted = |strategy: &Strategy, second| {
            row.failed(strategy, Duration::from_secs(second), None);
            row.failures()
        };
        let plain = Strategy::one_for_one();
        assert_eq!([0, 1, 61, 122].map(|second| counted(&plain, second)), [1, 2, 3, 1]);
        let window = plain.within(Duration::from_secs(10));
        assert_eq!([200, 210, 221].map(|second| counted(&window, second)), [1, 2, 1]);
        row.failed(&plain, Duration::from_secs(300), Some((Duration::from_secs(100), 7)));
        assert_eq!(row.failures(), 7, "under a backoff, its count applies");
        row.failed(&plain, Duration::from_secs(430), None);
        assert_eq!(row.failures(), 8, "it has been restarted for 30 s");
    }
}
