//! What the workers have to do, and which of them sleep: a queue for each, from which the others may steal.
//!
//! 1. Who queues a task from a worker queues it there. Another worker is woken only for what this one cannot take up
//!    next.
//! 2. A worker goes to sleep by saying so first and looking at all queues after. Who queues looks at the sleepers after. So
//!    no task waits for a sleeper that nobody wakes.
//!
//! What a task is is not known here.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The queues of tasks `T`, one for each worker.
pub(super) struct RunQueues<T> {
    workers: Box<[Worker<T>]>,
    /// How many workers sleep.
    sleepers: AtomicUsize,
    /// Where the next task goes that comes from outside while nobody sleeps.
    next: AtomicUsize,
}

struct Worker<T> {
    asleep: AtomicBool,
    queue: Mutex<Queue<T>>,
}

struct Queue<T> {
    tasks: VecDeque<T>,
    /// How to wake the worker, once it sleeps.
    waker: Option<Waker>,
    /// It was to be woken before it slept.
    woken: bool,
    /// The system has ended: the worker is not needed any more.
    over: bool,
    /// The workers are gone.
    closed: bool,
}

impl<T> RunQueues<T> {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Worker::new()).collect(),
            sleepers: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
        }
    }

    /// How many there are.
    pub(super) fn workers(&self) -> usize {
        self.workers.len()
    }

    // ---- who has a task ------------------------------------------------------------------------------------------

    /// Queues a task from the worker `me`. Given back where the workers are gone.
    pub(super) fn push_here(&self, me: usize, task: T) -> Result<(), T> {
        let mut queue = self.workers[me].lock();
        if queue.closed {
            return Err(task);
        }
        queue.tasks.push_back(task);
        let more_than_one = queue.tasks.len() > 1;
        drop(queue);
        // Invariant 1: the first in the queue is this worker's next.
        if more_than_one && self.workers.len() > 1 {
            self.wake_a_sleeper();
        }
        Ok(())
    }

    /// Queues a task from elsewhere. Given back where the workers are gone.
    pub(super) fn push_from_outside(&self, task: T) -> Result<(), T> {
        let at = match self.workers.len() {
            1 => 0,
            workers => {
                let start = self.next.fetch_add(1, Ordering::Relaxed);
                self.sleeper(start).unwrap_or(start % workers)
            }
        };
        let worker = &self.workers[at];
        let mut queue = worker.lock();
        if queue.closed {
            return Err(task);
        }
        queue.tasks.push_back(task);
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            self.rise(at);
            waker.wake();
        }
        Ok(())
    }

    fn sleeper(&self, start: usize) -> Option<usize> {
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let workers = self.workers.len();
        (start..start + workers).map(|at| at % workers).find(|at| self.workers[*at].asleep.load(Ordering::Relaxed))
    }

    fn wake_a_sleeper(&self) {
        // Invariant 2.
        fence(Ordering::SeqCst);
        if let Some(at) = self.sleeper(0) {
            self.wake(at);
        }
    }

    fn wake(&self, at: usize) {
        let mut queue = self.workers[at].lock();
        let waker = queue.waker.take();
        queue.woken = waker.is_none();
        drop(queue);
        if let Some(waker) = waker {
            self.rise(at);
            waker.wake();
        }
    }

    // ---- the workers ---------------------------------------------------------------------------------------------

    /// What worker `me` does next. Pending: it sleeps. `None`: it is not needed any more.
    pub(super) fn next(&self, me: usize, cx: &Context<'_>) -> Poll<Option<T>> {
        if self.workers.len() == 1 {
            return self.workers[me].lock().next(cx);
        }
        loop {
            let own = self.workers[me].lock().tasks.pop_front();
            if let Some(task) = own.or_else(|| self.others(me).find_map(|victim| self.steal(me, victim))) {
                return Poll::Ready(Some(task));
            }
            if let Some(poll) = self.sleep(me, cx) {
                return poll;
            }
        }
    }

    fn others(&self, me: usize) -> impl Iterator<Item = &Worker<T>> {
        let workers = self.workers.len();
        (me + 1..me + workers).map(move |at| &self.workers[at % workers])
    }

    /// Takes the older half of another worker's queue. Gives the first of them.
    fn steal(&self, me: usize, victim: &Worker<T>) -> Option<T> {
        let mut stolen: VecDeque<T> = {
            let mut queue = victim.lock();
            let half = queue.tasks.len().div_ceil(2);
            queue.tasks.drain(..half).collect()
        };
        let first = stolen.pop_front();
        if !stolen.is_empty() {
            self.workers[me].lock().tasks.append(&mut stolen);
        }
        first
    }

    /// Goes to sleep, if there is still nothing to do.
    fn sleep(&self, me: usize, cx: &Context<'_>) -> Option<Poll<Option<T>>> {
        let worker = &self.workers[me];
        // Invariant 2.
        worker.asleep.store(true, Ordering::Relaxed);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let others_have_some = self.others(me).any(|other| !other.lock().tasks.is_empty());
        let mut queue = worker.lock();
        let woken = std::mem::take(&mut queue.woken);
        let next = if others_have_some || woken { None } else { Some(queue.next(cx)) };
        drop(queue);
        if !matches!(next, Some(Poll::Pending)) {
            self.rise(me);
        }
        next
    }

    /// A worker sleeps no more.
    pub(super) fn rise(&self, at: usize) {
        if self.workers.len() > 1 && self.workers[at].asleep.swap(false, Ordering::Relaxed) {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    // ---- the end -------------------------------------------------------------------------------------------------

    /// The workers go when they have done what is left.
    pub(super) fn end(&self) {
        for worker in &self.workers {
            let mut queue = worker.lock();
            queue.over = true;
            let waker = queue.waker.take();
            drop(queue);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// The workers are gone. Gives what they have left.
    pub(super) fn close(&self) -> impl Iterator<Item = T> {
        self.workers.iter().flat_map(|worker| {
            let mut queue = worker.lock();
            queue.closed = true;
            std::mem::take(&mut queue.tasks)
        })
    }
}

impl<T> Worker<T> {
    fn new() -> Self {
        let queue = Queue { tasks: VecDeque::new(), waker: None, woken: false, over: false, closed: false };
        Self { asleep: AtomicBool::new(false), queue: Mutex::new(queue) }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Queue<T> {
    /// What is first, or how to wake the worker when there is something.
    fn next(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        match self.tasks.pop_front() {
            Some(task) => Poll::Ready(Some(task)),
            None if self.over => Poll::Ready(None),
            None => {
                self.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
