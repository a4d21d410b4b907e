//! What the clients sent, and the answers that they got.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Shared by all clients.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: HashSet<String>,
    /// The number of each order that was answered with success.
    pub(crate) accepted: HashMap<String, i64>,
    /// How often the service answered with each status.
    pub(crate) statuses: BTreeMap<u16, usize>,
    /// Requests whose connection broke.
    pub(crate) unanswered: usize,
    /// Answers with another number than an earlier answer to the same order.
    pub(crate) contradicted: usize,
    successes: Vec<Instant>,
    pub(crate) slowest: Duration,
}

impl Tally {
    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    pub(crate) fn answered(&mut self, id: &str, status: u16, number: Option<i64>, took: Duration) {
        *self.statuses.entry(status).or_default() += 1;
        self.slowest = self.slowest.max(took);
        if let Some(number) = number {
            self.successes.push(Instant::now());
            let before = self.accepted.insert(id.to_owned(), number);
            self.contradicted += usize::from(before.is_some_and(|before| before != number));
        }
    }

    pub(crate) fn status(&self, status: u16) -> usize {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    /// The longest time between two successes from `from` until `until`.
    pub(crate) fn longest_gap(&self, from: Instant, until: Instant) -> Duration {
        let mut last = from;
        let mut longest = Duration::ZERO;
        for success in self.successes.iter().copied().filter(|at| (from..=until).contains(at)).chain([until]) {
            longest = longest.max(success - last);
            last = success;
        }
        longest
    }

    /// How long after `moment` the next success came.
    pub(crate) fn next_after(&self, moment: Instant) -> Option<Duration> {
        self.successes.iter().find(|at| **at >= moment).map(|at| *at - moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_reaches_from_one_success_to_the_next() {
        let mut counts = Counts::default();
        let start = Instant::now();
        let second = Duration::from_secs(1);
        counts.successes = vec![start + second, start + 4 * second];
        assert_eq!(counts.longest_gap(start, start + 5 * second), 3 * second);
        assert_eq!(counts.longest_gap(start + 2 * second, start + 9 * second), 5 * second);
        assert_eq!(counts.next_after(start + 2 * second), Some(2 * second));
        assert_eq!(counts.next_after(start + 5 * second), None);
    }
}
