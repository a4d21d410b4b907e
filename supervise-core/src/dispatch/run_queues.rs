//! What the workers have to do, and which of them sleep: a queue for each, from which the others may steal.
//!
//! 1. Who queues a task from a worker queues it there. Another worker is woken only for what this one cannot take up
//!    next.
//! 2. A worker goes to sleep by saying so first and looking at all queues after, under their locks. Who queues a task,
//!    under such a lock, looks for a sleeper after. So one of the two sees the other.
//! 3. A sleeper is claimed for one task alone, by whoever makes it rise. So no task waits for a busy worker while another
//!    sleeps, but the one that is this worker's next.
//!
//! What a task is is not known here.

#[cfg(all(test, supervise_loom))]
mod loom_tests;

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The queues of tasks `T`, one for each worker.
pub(super) struct RunQueues<T> {
    workers: Box<[Worker<T>]>,
    /// Not less than the workers that sleep.
    sleepers: AtomicUsize,
    /// Where the next task goes that comes from outside while nobody sleeps.
    next: AtomicUsize,
}

struct Worker<T> {
    /// It sleeps or is about to, and nobody has claimed it.
    asleep: AtomicBool,
    queue: Mutex<Queue<T>>,
}

struct Queue<T> {
    tasks: VecDeque<T>,
    /// How to wake the worker, once it sleeps.
    waker: Option<Waker>,
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
        if more_than_one {
            self.wake_a_sleeper();
        }
        Ok(())
    }

    /// Queues a task from elsewhere. Given back where the workers are gone.
    pub(super) fn push_from_outside(&self, task: T) -> Result<(), T> {
        let [only] = &*self.workers else { return self.push_to_one_of_many(task) };
        let mut queue = only.lock();
        if queue.closed {
            return Err(task);
        }
        queue.tasks.push_back(task);
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    fn push_to_one_of_many(&self, task: T) -> Result<(), T> {
        let start = self.next.fetch_add(1, Ordering::Relaxed) % self.workers.len();
        let worker = self.sleeper(start).unwrap_or(&self.workers[start]);
        let mut queue = worker.lock();
        if queue.closed {
            return Err(task);
        }
        queue.tasks.push_back(task);
        let waker = queue.waker.take();
        // Under the lock, so that a worker that was about to sleep finds the task and its claim together.
        let claimed = self.claim(worker);
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
        if !claimed {
            self.wake_a_sleeper();
        }
        Ok(())
    }

    /// One that sleeps, as far as can be told without claiming it.
    fn sleeper(&self, start: usize) -> Option<&Worker<T>> {
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let (before, from) = self.workers.split_at(start);
        from.iter().chain(before).find(|worker| worker.asleep.load(Ordering::Relaxed))
    }

    /// For a task that was queued. Invariants 2 and 3.
    fn wake_a_sleeper(&self) {
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return;
        }
        if let Some(sleeper) = self.workers.iter().find(|worker| self.claim(worker)) {
            // One without a waker is about to sleep and will see that it was claimed.
            let waker = sleeper.lock().waker.take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Makes a worker rise. Whether it slept and nobody else has claimed it.
    ///
    /// Who claims has queued a task before, and who has been claimed looks at the queues after: Release and Acquire.
    fn claim(&self, worker: &Worker<T>) -> bool {
        let claimed = worker.asleep.load(Ordering::Acquire)
            && worker.asleep.compare_exchange(true, false, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if claimed {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
        claimed
    }

    // ---- the workers ---------------------------------------------------------------------------------------------

    /// Moves what the only worker has to do into `tasks`, which is empty: all of it, because nobody steals. Pending: it is
    /// woken when there is more. Ready: there is nothing, and it is not needed any more.
    pub(super) fn take_all(&self, tasks: &mut VecDeque<T>, cx: &Context<'_>) -> Poll<()> {
        let mut queue = self.workers[0].lock();
        std::mem::swap(tasks, &mut queue.tasks);
        let over = queue.over;
        if !over {
            queue.waker = Some(cx.waker().clone());
        }
        drop(queue);
        if over && tasks.is_empty() {
            return Poll::Ready(());
        }
        if over {
            // What these lead to is done too.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Gives back what the only worker has not come to, before what came meanwhile. Left in `tasks` where it is gone.
    pub(super) fn give_back(&self, tasks: &mut VecDeque<T>) {
        let mut queue = self.workers[0].lock();
        if !queue.closed {
            tasks.append(&mut queue.tasks);
            std::mem::swap(tasks, &mut queue.tasks);
        }
    }

    /// What worker `me` does next. Pending: it sleeps. `None`: it is not needed any more.
    pub(super) fn next(&self, me: usize, cx: &Context<'_>) -> Poll<Option<T>> {
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
            // Meanwhile nobody saw them.
            self.wake_a_sleeper();
        }
        first
    }

    /// Goes to sleep, if there is still nothing to do.
    fn sleep(&self, me: usize, cx: &Context<'_>) -> Option<Poll<Option<T>>> {
        let worker = &self.workers[me];
        // Invariant 2. Who sees that it sleeps sees that it is counted.
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        worker.asleep.store(true, Ordering::Release);
        let others_have_some = self.others(me).any(|other| !other.lock().tasks.is_empty());
        let mut queue = worker.lock();
        let claimed = !worker.asleep.load(Ordering::Acquire);
        let next = if others_have_some || claimed { None } else { Some(queue.next(cx)) };
        drop(queue);
        if !matches!(next, Some(Poll::Pending)) {
            self.claim(worker);
        }
        next
    }

    /// Worker `me` sleeps no more.
    pub(super) fn rise(&self, me: usize) {
        self.claim(&self.workers[me]);
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
        let queue = Queue { tasks: VecDeque::new(), waker: None, over: false, closed: false };
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
