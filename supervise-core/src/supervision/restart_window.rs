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
    /// The failures that are still in a sliding window. Never more than the limit plus one.
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

/// How much of a restart limit is used at some time, as the next failure would find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Standing {
    /// How many restarts count now.
    pub used: u32,
    /// How many are granted.
    pub of: u32,
    /// When the oldest of these restarts stops counting, as the time since the system began. `None` if no restart counts, or if
    /// they count for the child's whole life.
    pub anew_at: Option<Time>,
}

/// Whether a limit grants one more restart.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permit {
    /// The restart is within the limit.
    Granted,
    /// The restart is beyond the limit.
    Refused,
}

impl RestartStatistics {
    /// How much of the limit a failure at `now` would find used. `None` if there is no limit.
    ///
    /// Rules [7.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.3),
    /// [7.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.4) and
    /// [7.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.5).
    pub fn standing(&self, limit: &Limit, now: Time) -> Option<Standing> {
        let Some(within) = limit.within else {
            let of = limit.max_retries?;
            return Some(Standing { used: self.count.min(of), of, anew_at: None });
        };
        let of = limit.max_retries.unwrap_or(1);
        let counts = |then: &Time| now.saturating_sub(*then) <= within;
        let (first, used) = match limit.window {
            Window::Tumbling => (self.opened.filter(counts), self.count),
            Window::Sliding => {
                let mut recent = self.recent.iter().copied().filter(counts);
                (recent.next(), 1 + u32::try_from(recent.count()).unwrap_or(u32::MAX - 1))
            }
        };
        let used = if first.is_some() { used.min(of) } else { 0 };
        Some(Standing { used, of, anew_at: first.and_then(|first| first.checked_add(within)) })
    }

    /// Counts a restart requested at `now`, and returns whether it is granted.
    ///
    /// Rules [7.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.3),
    /// [7.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.4) and
    /// [7.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.5).
    pub fn permit(&mut self, limit: &Limit, now: Time) -> Permit {
        let granted = self.permits(limit, now);
        self.refused = !granted && limit.max_retries != Some(0);
        if granted { Permit::Granted } else { Permit::Refused }
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
        let mut at = |ms| statistics.permit(&limit, Duration::from_millis(ms)) == Permit::Granted;
        times.iter().map(|ms| at(*ms)).collect()
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
        assert_eq!(statistics.permit(&limit(Some(0), Some(10)), Duration::ZERO), Permit::Refused);
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
            let limit = limit(Some(5), Some(10_000));
            assert_eq!(statistics.permit(&limit, Duration::from_secs(seconds)), Permit::Granted);
        }
        assert_eq!(statistics.count(), 3);
    }

    /// CON-12: at every moment, "n of m" is what the next failure would find.
    #[test]
    fn a_standing_is_what_the_next_failure_would_find() {
        for window in [Window::Tumbling, Window::Sliding] {
            for (retries, within) in [
                (Some(0), None),
                (Some(0), Some(5)),
                (Some(3), None),
                (None, Some(5)),
                (Some(1), Some(5)),
                (Some(3), Some(5)),
            ] {
                let limit = Limit { window, ..limit(retries, within) };
                let mut statistics = RestartStatistics::default();
                // Failures in a pattern that leaves pauses shorter than, as long as, and longer than the window.
                for (failed_at, looks) in [(0, 1), (1, 3), (4, 1), (5, 1), (6, 5), (11, 6), (17, 4), (21, 9)] {
                    let _granted = statistics.permit(&limit, Duration::from_millis(failed_at));
                    for now in (failed_at..=failed_at + looks).map(Duration::from_millis) {
                        let standing = statistics.standing(&limit, now).expect("there is a limit");
                        let granted = statistics.clone().permit(&limit, now) == Permit::Granted;
                        assert_eq!(standing.used < standing.of, granted, "{limit:?} at {now:?}: {statistics:?}");
                        let Some(anew_at) = standing.anew_at else { continue };
                        let still = statistics.standing(&limit, anew_at).expect("a limit").used;
                        let then =
                            statistics.standing(&limit, anew_at + Duration::from_nanos(1)).expect("a limit").used;
                        assert!(still == standing.used && then < still, "{limit:?} at {now:?}: {standing:?}");
                    }
                }
            }
        }
        assert_eq!(RestartStatistics::default().standing(&Limit::UNLIMITED, Duration::ZERO), None);
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
