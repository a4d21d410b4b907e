//! How long a test waits, in virtual time. Time by which the test itself moves the clock does not count.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::base::later;

/// How often a test may move the clock. Without a bound, a test that moves it until something happens could run for
/// ever.
const MOVES: u64 = 1_000_000;

/// How far the test has moved the clock, for the limits of its waits.
#[derive(Debug, Default, Clone)]
pub(super) struct Patience(Arc<Mutex<Moves>>);

#[derive(Debug, Default)]
struct Moves {
    times: u64,
    /// The sum of all moves, including the whole of the current one.
    sum: Duration,
    /// When the last move ends.
    end: Option<Instant>,
}

impl Patience {
    /// The test moves the clock, which extends the limits of all waits by the same time.
    ///
    /// # Panics
    ///
    /// If the test has moved the clock too often.
    pub(super) fn moves(&self, duration: Duration) {
        let mut moves = self.lock();
        moves.times += 1;
        moves.sum = moves.sum.saturating_add(duration);
        moves.end = Some(later(Instant::now(), duration));
        let too_often = moves.times > MOVES;
        drop(moves);
        assert!(!too_often, "the test moved the clock {MOVES} times: what it waits for does not happen");
    }

    /// Waits for `future`, for at most `limit`.
    pub(super) async fn within<T>(&self, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
        let began = Instant::now();
        let moved_before = {
            let moves = self.lock();
            let to_come = moves.end.map_or(Duration::ZERO, |end| end.saturating_duration_since(began));
            moves.sum.saturating_sub(to_come)
        };
        let mut future = pin!(future);
        loop {
            let sum = self.lock().sum;
            let deadline = later(began, limit.saturating_add(sum.saturating_sub(moved_before)));
            match timeout_at(deadline, future.as_mut()).await {
                Ok(value) => return Some(value),
                Err(_) if self.lock().sum == sum => return None,
                Err(_) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Moves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
