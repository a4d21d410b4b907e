//! Whether the actors of a system are busy, and which of them.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context as TaskContext, Poll};

use crate::actor::cell::AnyCell;
use crate::base::ActorPath;

/// How often any cell of a system was polled.
#[derive(Debug, Default, Clone)]
pub(crate) struct Activity(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    polls: AtomicU64,
    /// How often `settle` of the testkit found the cells busy.
    unsettled: AtomicU64,
    /// Whether the turns are recorded. This is so only in a test, which runs on one thread. Other systems only pay
    /// for the count.
    recorded: AtomicBool,
    turns: Mutex<Turns>,
}

#[derive(Default)]
struct Turns {
    /// The cell whose turn it is. Weak, because a cell holds its system, and the system holds this.
    current: Option<Weak<dyn AnyCell>>,
    /// How many turns each actor has had, while they are counted.
    by_actor: Option<HashMap<ActorPath, u64>>,
}

impl std::fmt::Debug for Turns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turns").field("by_actor", &self.by_actor).finish_non_exhaustive()
    }
}

impl Activity {
    /// A turn of `cell` begins. It ends when the returned `Turn` is dropped.
    pub(crate) fn turn(&self, cell: &Arc<dyn AnyCell>) -> Option<Turn<'_>> {
        self.count();
        if !self.0.recorded.load(Ordering::Relaxed) {
            return None;
        }
        let mut turns = self.turns();
        if let Some(by_actor) = &mut turns.by_actor {
            *by_actor.entry(cell.core().path()).or_default() += 1;
        }
        let outer = turns.current.replace(Arc::downgrade(cell));
        Some(Turn { activity: self, outer })
    }

    fn count(&self) {
        self.0.polls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn so_far(&self) -> u64 {
        self.0.polls.load(Ordering::Relaxed)
    }

    pub(crate) fn unsettled(&self) -> u64 {
        self.0.unsettled.load(Ordering::Relaxed)
    }

    /// Counts that `settle` of the testkit found the cells busy.
    pub(crate) fn found_unsettled(&self) {
        self.0.unsettled.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the turns from now on.
    pub(crate) fn record(&self) {
        self.0.recorded.store(true, Ordering::Relaxed);
    }

    /// The cell whose turn it is.
    pub(crate) fn current(&self) -> Option<ActorPath> {
        let current = self.turns().current.clone();
        Some(current?.upgrade()?.core().path())
    }

    /// Counts the turns of each actor from now on.
    pub(crate) fn count_by_actor(&self) {
        self.turns().by_actor = Some(HashMap::new());
    }

    /// The actors with the most turns since counting began, the busiest first, and at most a few.
    pub(crate) fn busiest(&self) -> Vec<ActorPath> {
        const AT_MOST: usize = 5;
        let mut by_actor: Vec<_> = self.turns().by_actor.take().unwrap_or_default().into_iter().collect();
        by_actor.sort_by(|(path, turns), (another, more)| more.cmp(turns).then_with(|| path.cmp(another)));
        by_actor.into_iter().take(AT_MOST).map(|(path, _)| path).collect()
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running turn.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    activity: &'a Activity,
    /// The turn within which this one began, on the same stack.
    outer: Option<Weak<dyn AnyCell>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let ended = std::mem::replace(&mut self.activity.turns().current, self.outer.take());
        drop(ended);
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
