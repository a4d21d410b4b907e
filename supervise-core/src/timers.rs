//! The timers of one cell: a table and one sleep for the earliest. Appears with the first timer.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A time that the clock can tell but nobody lives to see: some 30 years.
const FOR_EVER: Duration = Duration::from_secs(86_400 * 365 * 30);

/// When `delay` has passed since `from`; what the clock cannot tell is for ever.
pub(crate) fn later(from: Instant, delay: Duration) -> Instant {
    from.checked_add(delay).unwrap_or_else(|| from + FOR_EVER)
}

/// Keyed timers. Setting a key again replaces its timer.
#[derive(Debug)]
pub(crate) struct Timers<K> {
    by_time: BTreeMap<(Instant, u64), K>,
    by_key: HashMap<K, (Instant, u64)>,
    next: u64,
    sleep: Pin<Box<Sleep>>,
}

impl<K: Clone + Eq + Hash> Timers<K> {
    pub(crate) fn new() -> Self {
        Self {
            by_time: BTreeMap::new(),
            by_key: HashMap::new(),
            next: 0,
            sleep: Box::pin(tokio::time::sleep_until(Instant::now())),
        }
    }

    pub(crate) fn set(&mut self, key: K, at: Instant) {
        self.cancel(&key);
        self.next += 1;
        let slot = (at, self.next);
        self.by_time.insert(slot, key.clone());
        self.by_key.insert(key, slot);
    }

    pub(crate) fn cancel(&mut self, key: &K) {
        if let Some(slot) = self.by_key.remove(key) {
            self.by_time.remove(&slot);
        }
    }

    /// The next timer that is due already.
    pub(crate) fn next_due(&mut self) -> Option<K> {
        let entry = self.by_time.first_entry()?;
        let (at, _) = *entry.key();
        if at > Instant::now() {
            return None;
        }
        let key = entry.remove();
        self.by_key.remove(&key);
        Some(key)
    }

    /// Ready with the next timer that is due; otherwise wakes the task when one is.
    pub(crate) fn poll_due(&mut self, cx: &mut TaskContext<'_>) -> Poll<K> {
        loop {
            if let Some(key) = self.next_due() {
                return Poll::Ready(key);
            }
            let Some(((at, _), _)) = self.by_time.first_key_value() else { return Poll::Pending };
            let at = *at;
            if self.sleep.deadline() != at {
                self.sleep.as_mut().reset(at);
            }
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
