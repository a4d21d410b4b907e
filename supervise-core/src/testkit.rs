//! Testing actors: a private system per test on a paused clock.
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll};

/// How often any cell of a system was polled.
#[derive(Debug, Default, Clone)]
pub(crate) struct Activity(Arc<AtomicU64>);

impl Activity {
    pub(crate) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
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
        self.activity.0.fetch_add(1, Ordering::Relaxed);
        self.cell.as_mut().poll(cx)
    }
}
