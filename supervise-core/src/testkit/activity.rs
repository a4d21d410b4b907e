//! Whether the actors of a system are busy.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll};

use super::QUIET_ROUNDS;
use crate::system::ActorSystem;

/// How often any cell of a system was polled.
#[derive(Debug, Default, Clone)]
pub(crate) struct Activity(Arc<AtomicU64>);

impl Activity {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Yields to the other tasks until the cells were quiet for some rounds. On one thread a yield lets every task that is
/// ready run before it comes back.
pub(super) async fn settle(system: &ActorSystem) {
    let mut quiet = 0;
    let mut before = system.activity().so_far();
    while quiet < QUIET_ROUNDS {
        tokio::task::yield_now().await;
        let now = system.activity().so_far();
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
    }
}

/// A cell whose polls are counted.
#[derive(Debug)]
pub(crate) struct Counted<F> {
    activity: Activity,
    cell: Pin<Box<F>>,
}

impl<F: Future> Counted<F> {
    pub(crate) fn new(activity: &Activity, cell: F) -> Self {
        Self { activity: activity.clone(), cell: Box::pin(cell) }
    }
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<F::Output> {
        self.activity.count();
        self.cell.as_mut().poll(cx)
    }
}
