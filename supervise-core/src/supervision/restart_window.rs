//! Whether one more restart is granted: the arithmetic of limits. Time is an argument.

use std::collections::VecDeque;
use std::time::Duration;

use super::Time;
use super::settings::{Limit, Window};

/// The restarts counted against one limit.
///
/// Kept by the supervisor, for each child incarnation or for all its children together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RestartStatistics {
    count: u32,
    opened: Option<Time>,
    /// The failures that are still in a sliding window: never more than the limit plus one.
    recent: VecDeque<Time>,
    /// Whether the last request was refused.
    refused: bool,
}

/// The restarts counted against the limits of single rules. There are as many counts as the table has rules with a limit.
///
/// Rule 7.11.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct RuleStatistics(Vec<(u16, RestartStatistics)>);

impl RuleStatistics {
    /// The count of a rule.
    pub(crate) fn of(&mut self, rule: u16) -> &mut RestartStatistics {
        let at = self.0.iter().position(|(other, _)| *other == rule).unwrap_or_else(|| {
            self.0.push((rule, RestartStatistics::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// The count of a rule that has one.
    pub(crate) fn find(&self, rule: u16) -> Option<&RestartStatistics> {
        self.0.iter().find(|(other, _)| *other == rule).map(|(_, count)| count)
    }
}

impl RestartStatistics {
    /// Counts a restart requested at `now`, and returns whether it is granted.
    ///
    /// Rules 7.3, 7.4 and 7.5.
    #[must_use]
    pub fn permit(&mut self, limit: &Limit, now: Time) -> bool {
        let granted = self.permits(limit, now);
        self.refused = !granted && limit.max_retries != Some(0);
        granted
    }

    /// Whether the last request under this limit was refused.
    pub(crate) fn refused(&self, limit: &Limit) -> bool {
        self.refused || limit.max_retries == Some(0)
    }

    fn permits(&mut self, limit: &Limit, now: Time) -> bool {
        match (limit.max_retries, limit.within) {
            (Some(0), _) => false,
            (None, None) => true,
            (Some(retries), None) => {
                self.count = self.count.saturating_add(1);
                self.count <= retries
            }
            (retries, Some(within)) => {
                let retries = retries.unwrap_or(1);
                match limit.window {
                    Window::Tumbling => self.permit_tumbling(retries, within, now),
                    Window::Sliding => self.permit_sliding(retries, within, now),
                }
            }
        }
    }

    /// How many restarts the current window has counted.
    pub fn count(&self) -> u32 {
        self.count
    }

    fn permit_tumbling(&mut self, retries: u32, within: Duration, now: Time) -> bool {
        let opened = *self.opened.get_or_insert(now);
        if now.saturating_sub(opened) <= within {
            self.count = self.count.saturating_add(1);
            self.count <= retries
        } else {
            self.count = 1;
            self.opened = Some(now);
            true
        }
    }

    fn permit_sliding(&mut self, retries: u32, within: Duration, now: Time) -> bool {
        while self.recent.front().is_some_and(|then| now.saturating_sub(*then) > within) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        let granted = self.recent.len() <= retries as usize;
        if !granted {
            self.recent.pop_front();
        }
        self.count = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdicts for failures at `times` (milliseconds).
    fn verdicts(limit: Limit, times: &[u64]) -> Vec<bool> {
        let mut statistics = RestartStatistics::default();
        times.iter().map(|ms| statistics.permit(&limit, Duration::from_millis(*ms))).collect()
    }

    fn limit(retries: Option<u32>, within_ms: Option<u64>) -> Limit {
        Limit { max_retries: retries, within: within_ms.map(Duration::from_millis), window: Window::Tumbling }
    }

    #[test]
    fn no_limit_grants_for_ever() {
        assert_eq!(verdicts(Limit::UNLIMITED, &[0; 100]), [true; 100]);
    }

    #[test]
    fn zero_retries_grant_nothing_and_count_nothing() {
        let mut statistics = RestartStatistics::default();
        assert!(!statistics.permit(&limit(Some(0), Some(10)), Duration::ZERO));
        assert_eq!(statistics, RestartStatistics::default());
    }

    #[test]
    fn without_a_window_the_quota_is_for_life() {
        let day = 86_400_000;
        assert_eq!(verdicts(limit(Some(3), None), &[0, day, 2 * day, 3 * day]), [true, true, true, false]);
    }

    #[test]
    fn a_tumbling_window_opens_at_a_failure() {
        assert_eq!(verdicts(limit(Some(2), Some(1000)), &[0, 400, 900]), [true, true, false]);
        assert_eq!(verdicts(limit(Some(2), Some(1000)), &[0, 900, 1050, 1100]), [true; 4]);
        assert_eq!(
            verdicts(limit(Some(3), Some(10_000)), &[0, 9000, 9500, 10_500, 10_600, 10_700, 10_800]),
            [true, true, true, true, true, true, false]
        );
    }

    #[test]
    fn the_end_of_a_window_belongs_to_it() {
        assert_eq!(verdicts(limit(Some(1), Some(1000)), &[0, 1000]), [true, false]);
        assert_eq!(verdicts(limit(Some(1), Some(1000)), &[0, 1001, 2002, 3003]), [true; 4]);
    }

    #[test]
    fn a_window_alone_grants_one_restart() {
        assert_eq!(verdicts(limit(None, Some(10_000)), &[0, 5000]), [true, false]);
        assert_eq!(verdicts(limit(None, Some(10_000)), &[0, 10_001, 20_002]), [true; 3]);
    }

    #[test]
    fn a_window_of_thirty_days_does_not_overflow() {
        assert_eq!(verdicts(limit(Some(2), Some(30 * 86_400_000)), &[0, 1, 2]), [true, true, false]);
    }

    #[test]
    fn a_sliding_window_counts_the_last_failures() {
        let sliding = Limit { window: Window::Sliding, ..limit(Some(2), Some(1000)) };
        assert_eq!(verdicts(sliding, &[0, 900, 1050, 1100]), [true, true, true, false]);
    }

    #[test]
    fn the_end_of_a_sliding_window_belongs_to_it() {
        let sliding = Limit { window: Window::Sliding, ..limit(Some(1), Some(1000)) };
        assert_eq!(verdicts(sliding, &[0, 1000]), [true, false]);
        assert_eq!(verdicts(sliding, &[0, 1001]), [true, true]);
    }

    #[test]
    fn the_restarts_of_a_window_are_counted() {
        let mut statistics = RestartStatistics::default();
        for seconds in [0, 1, 2] {
            assert!(statistics.permit(&limit(Some(5), Some(10_000)), Duration::from_secs(seconds)));
        }
        assert_eq!(statistics.count(), 3);
    }

    #[test]
    fn a_sliding_window_remembers_no_more_than_its_limit() {
        let sliding = Limit { window: Window::Sliding, ..limit(Some(2), Some(1000)) };
        let mut statistics = RestartStatistics::default();
        for ms in 0..500 {
            let _ = statistics.permit(&sliding, Duration::from_millis(ms));
        }
        assert!(statistics.recent.len() <= 3);
    }
}
