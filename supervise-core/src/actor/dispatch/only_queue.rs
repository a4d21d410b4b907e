//! The queue of the only carrier of a current-thread runtime: other threads fill it, and the carrier takes its whole
//! content whenever it is polled.
//!
//! No other carrier steals from it. So tasks that the carrier's own turns make ready stay on its thread and need no lock.

#[cfg(all(test, supervise_loom))]
mod loom_tests;

use std::collections::VecDeque;
use std::mem::{swap, take};
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use crate::base::sync::{Mutex, MutexGuard, PoisonError};

/// The tasks `T` that came from outside.
pub(super) struct OnlyQueue<T> {
    queue: Mutex<Queue<T>>,
    /// The waker of the carrier, which is always the same. It is set before the carrier first sleeps.
    waker: OnceLock<Waker>,
}

struct Queue<T> {
    tasks: VecDeque<T>,
    /// Whether the carrier sleeps and has not been woken.
    asleep: bool,
    /// The system has ended, so the carrier ends when no task waits.
    over: bool,
    /// The carrier is gone.
    closed: bool,
}

impl<T> OnlyQueue<T> {
    pub(super) fn new() -> Self {
        let queue = Queue { tasks: VecDeque::new(), asleep: false, over: false, closed: false };
        Self { queue: Mutex::new(queue), waker: OnceLock::new() }
    }

    /// Queues a task, or returns it if the carrier is gone.
    pub(super) fn push(&self, task: T) -> Result<(), T> {
        let mut queue = self.lock();
        if queue.closed {
            return Err(task);
        }
        queue.tasks.push_back(task);
        self.wake(queue);
        Ok(())
    }

    /// Moves all waiting tasks into `tasks`, which is empty. `Pending`: the carrier is woken when it must be
    /// polled again. `Ready`: the system has ended and no task waits, so the carrier ends.
    pub(super) fn take_all(&self, tasks: &mut VecDeque<T>, cx: &Context<'_>) -> Poll<()> {
        // The carrier is one task, so its first waker stays good.
        self.waker.get_or_init(|| cx.waker().clone());
        let mut queue = self.lock();
        swap(tasks, &mut queue.tasks);
        let over = queue.over;
        queue.asleep = !over;
        drop(queue);
        if over && tasks.is_empty() {
            return Poll::Ready(());
        }
        if over {
            // Polled again, so that tasks that these make ready are done too.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Puts the tasks that the carrier did not get to back, before the tasks that have arrived since. If the carrier is
    /// gone, they stay in `tasks`.
    pub(super) fn give_back(&self, tasks: &mut VecDeque<T>) {
        let mut queue = self.lock();
        if !queue.closed {
            tasks.append(&mut queue.tasks);
            swap(tasks, &mut queue.tasks);
        }
    }

    /// The carrier ends when it has done the remaining work.
    pub(super) fn end(&self) {
        let mut queue = self.lock();
        queue.over = true;
        self.wake(queue);
    }

    /// Wakes the carrier if it sleeps, after releasing the lock.
    fn wake(&self, mut queue: MutexGuard<'_, Queue<T>>) {
        let slept = take(&mut queue.asleep);
        drop(queue);
        if slept && let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// The carrier is gone. Returns the remaining tasks.
    pub(super) fn close(&self) -> VecDeque<T> {
        let mut queue = self.lock();
        queue.closed = true;
        take(&mut queue.tasks)
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
