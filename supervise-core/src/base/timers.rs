//! The timers of one cell: a table, and one sleep for the earliest. Allocated with the first timer.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A delay that the clock can represent and that never passes in practice: about 30 years.
const FOR_EVER: Duration = Duration::from_secs(86_400 * 365 * 30);

/// The moment when `delay` has passed since `from`. A moment that the clock cannot represent counts as [`FOR_EVER`].
pub(crate) fn later(from: Instant, delay: Duration) -> Instant {
    from.checked_add(delay).unwrap_or_else(|| from + FOR_EVER)
}

/// Timers identified by numbers. Timers that are due at the same moment come in the order of their numbers. Setting a
/// number again replaces its timer.
#[derive(Debug)]
pub(crate) struct Timers {
    by_time: BTreeSet<(Instant, u64)>,
    by_number: HashMap<u64, Instant>,
    sleep: Pin<Box<Sleep>>,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            by_time: BTreeSet::new(),
            by_number: HashMap::new(),
            sleep: Box::pin(tokio::time::sleep_until(Instant::now())),
        }
    }

    pub(crate) fn set(&mut self, number: u64, at: Instant) {
        self.cancel(number);
        self.by_time.insert((at, number));
        self.by_number.insert(number, at);
    }

    pub(crate) fn cancel(&mut self, number: u64) {
        if let Some(at) = self.by_number.remove(&number) {
            self.by_time.remove(&(at, number));
        }
    }

    /// The next timer that is due now.
    pub(crate) fn next_due(&mut self) -> Option<u64> {
        let &(at, number) = self.by_time.first()?;
        if at > Instant::now() {
            return None;
        }
        self.cancel(number);
        Some(number)
    }

    /// Returns the next timer that is due, or wakes the task when one is.
    pub(crate) fn poll_due(&mut self, cx: &mut TaskContext<'_>) -> Poll<u64> {
        loop {
            if let Some(number) = self.next_due() {
                return Poll::Ready(number);
            }
            let Some(&(at, _)) = self.by_time.first() else { return Poll::Pending };
            if self.sleep.deadline() != at {
                self.sleep.as_mut().reset(at);
            }
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
