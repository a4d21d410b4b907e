//! Who polls a cell: a few resident tokio tasks, the workers, one for each thread of the runtime.
//!
//! ```text
//!   a push finds the runner parked ──► Task ──► a worker's queue ──► worker: one turn ──► parked in its mailbox again
//!                                                    ▲    │ an idle worker steals half
//!                                                    └────┘
//! ```
//!
//! An idle actor has no task of tokio's; its runner waits in its own mailbox. A worker is woken through tokio only when it
//! had nothing to do, so messages between busy actors cost no task switch.
//!
//! 1. A [`Task`] exists once for each cell that has not ended: it is parked, queued or having its turn.
//! 2. Who queues a task from a worker queues it there. Another worker is woken only for what this one cannot take up
//!    next.
//! 3. A worker goes to sleep by saying so first and looking at all queues after. Who queues looks at the sleepers after. So
//!    no task waits for a sleeper that nobody wakes.
//! 4. A worker lets tokio's other tasks run when it has spent its budget, its own or tokio's.
//! 5. When the last worker goes, with its runtime or because the system has ended, all tasks that are left go too.
//!
//! What a turn does is not known here.

use std::cell::Cell as Local;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use tokio::runtime::Handle;

use crate::cell::{self, AnyCell};
use crate::system::SystemCore;
use crate::unwind::{contained, drop_quietly};

/// How many messages and turns a worker gives the actors before it lets tokio's other tasks run.
const BUDGET: usize = 128;

/// What runs a cell: its future, and who it is.
pub(crate) struct Task {
    cell: Arc<dyn AnyCell>,
    body: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Wakes this task, for whatever its user code waits for.
    waker: Waker,
}

impl Task {
    pub(crate) fn new(
        cell: Arc<dyn AnyCell>,
        waker: Waker,
        body: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { cell, body: Box::pin(body), waker }
    }

    /// Polls the cell once. Parks it, or queues it again where something has come meanwhile.
    fn turn(mut self) {
        let cell = Arc::clone(&self.cell);
        #[cfg(feature = "testkit")]
        cell.core().system.activity().count();
        match contained(|| self.body.as_mut().poll(&mut TaskContext::from_waker(&self.waker))) {
            Ok(Poll::Pending) => {
                if let Err(again) = cell.park(self) {
                    cell.core().system.dispatcher().ready(again);
                }
            }
            Ok(Poll::Ready(())) => drop(self),
            Err(payload) => cell::broke(&cell, self, payload),
        }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

/// The workers of one system and what they have to do.
pub(crate) struct Dispatcher {
    workers: Box<[Worker]>,
    /// How many workers sleep.
    sleepers: AtomicUsize,
    /// Where the next task goes that comes from outside while nobody sleeps.
    next: AtomicUsize,
    /// How many workers there are still.
    alive: AtomicUsize,
}

struct Worker {
    asleep: AtomicBool,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    /// How to wake the worker, once it sleeps.
    waker: Option<Waker>,
    /// It was to be woken before it slept.
    woken: bool,
    /// The system has ended: the worker is not needed any more.
    over: bool,
    /// The workers are gone.
    closed: bool,
}

thread_local! {
    /// The worker that this thread runs: its dispatcher's address and its index.
    static HERE: Local<(usize, usize)> = const { Local::new((0, 0)) };
    /// What is left of the worker's budget.
    static BUDGET_LEFT: Local<usize> = const { Local::new(0) };
}

/// Charges the worker for messages its current turn has handled.
pub(crate) fn charge(messages: usize) {
    BUDGET_LEFT.set(BUDGET_LEFT.get().saturating_sub(messages));
}

/// Lets what a system does besides run until it ends.
pub(crate) fn start(system: &SystemCore, future: impl Future<Output = ()> + Send + 'static) {
    #[cfg(feature = "testkit")]
    let future = crate::testkit::Counted::new(system.activity(), future);
    // The task needs no owner: it ends by itself.
    drop(system.runtime().spawn(future));
}

impl Dispatcher {
    /// Without workers yet.
    pub(crate) fn new(runtime: &Handle) -> Self {
        let workers = runtime.metrics().num_workers();
        let worker = || Worker { asleep: AtomicBool::new(false), queue: Mutex::default() };
        Self {
            workers: (0..workers).map(|_| worker()).collect(),
            sleepers: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            alive: AtomicUsize::new(workers),
        }
    }

    /// Starts the workers. Once for each system.
    pub(crate) fn start(system: &Arc<SystemCore>) {
        for me in 0..system.dispatcher().workers.len() {
            let resident = Resident { system: Arc::clone(system) };
            drop(system.runtime().spawn(async move {
                poll_fn(|cx| resident.system.dispatcher().work(me, cx)).await;
            }));
        }
    }

    /// Queues a task. Where the workers are gone, it goes too.
    pub(crate) fn ready(&self, task: Task) {
        let (dispatcher, me) = HERE.get();
        let refused = if dispatcher == std::ptr::from_ref(self).addr() {
            self.queue_here(me, task)
        } else {
            self.queue_from_outside(task)
        };
        if let Err(task) = refused {
            drop_quietly(task);
        }
    }

    fn queue_here(&self, me: usize, task: Task) -> Result<(), Task> {
        let mut queue = self.workers[me].lock();
        if queue.closed {
            return Err(task);
        }
        queue.tasks.push_back(task);
        let more_than_one = queue.tasks.len() > 1;
        drop(queue);
        // Invariant 2: the first in the queue is this worker's next.
        if more_than_one && self.workers.len() > 1 {
            self.wake_a_sleeper();
        }
        Ok(())
    }

    fn queue_from_outside(&self, task: Task) -> Result<(), Task> {
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
            self.rise(worker);
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
        // Invariant 3.
        fence(Ordering::SeqCst);
        if let Some(at) = self.sleeper(0) {
            self.wake(at);
        }
    }

    fn wake(&self, at: usize) {
        let worker = &self.workers[at];
        let mut queue = worker.lock();
        let waker = queue.waker.take();
        queue.woken = waker.is_none();
        drop(queue);
        if let Some(waker) = waker {
            self.rise(worker);
            waker.wake();
        }
    }

    // ---- the workers ---------------------------------------------------------------------------------------------

    fn work(&self, me: usize, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.rise(&self.workers[me]);
        let outer = HERE.replace((std::ptr::from_ref(self).addr(), me));
        BUDGET_LEFT.set(BUDGET);
        let poll = loop {
            match self.next_task(me, cx) {
                Poll::Ready(Some(task)) => task.turn(),
                Poll::Ready(None) => break Poll::Ready(()),
                Poll::Pending => break Poll::Pending,
            }
            charge(1);
            if BUDGET_LEFT.get() == 0 || !tokio::task::coop::has_budget_remaining() {
                cx.waker().wake_by_ref();
                break Poll::Pending;
            }
        };
        HERE.set(outer);
        poll
    }

    /// What to do next. Pending: the worker sleeps. `None`: it is not needed any more.
    fn next_task(&self, me: usize, cx: &TaskContext<'_>) -> Poll<Option<Task>> {
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

    fn others(&self, me: usize) -> impl Iterator<Item = &Worker> {
        let workers = self.workers.len();
        (me + 1..me + workers).map(move |at| &self.workers[at % workers])
    }

    /// Takes the older half of another worker's queue. Gives the first of them.
    fn steal(&self, me: usize, victim: &Worker) -> Option<Task> {
        let mut stolen: VecDeque<Task> = {
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
    fn sleep(&self, me: usize, cx: &TaskContext<'_>) -> Option<Poll<Option<Task>>> {
        let worker = &self.workers[me];
        // Invariant 3.
        worker.asleep.store(true, Ordering::Relaxed);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let others_have_some = self.others(me).any(|other| !other.lock().tasks.is_empty());
        let mut queue = worker.lock();
        let woken = std::mem::take(&mut queue.woken);
        let next = if others_have_some || woken { None } else { Some(queue.next(cx)) };
        drop(queue);
        if !matches!(next, Some(Poll::Pending)) {
            self.rise(worker);
        }
        next
    }

    /// A worker sleeps no more.
    fn rise(&self, worker: &Worker) {
        if self.workers.len() > 1 && worker.asleep.swap(false, Ordering::Relaxed) {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The system has ended: the workers go when they have done what is left.
    pub(crate) fn end(&self) {
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

    /// Invariant 5.
    fn close(&self) -> impl Iterator<Item = Task> {
        self.workers.iter().flat_map(|worker| {
            let mut queue = worker.lock();
            queue.closed = true;
            std::mem::take(&mut queue.tasks)
        })
    }
}

impl Queue {
    /// What is first, or how to wake the worker when there is something.
    fn next(&mut self, cx: &TaskContext<'_>) -> Poll<Option<Task>> {
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

impl Worker {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by each worker's future.
struct Resident {
    system: Arc<SystemCore>,
}

impl Drop for Resident {
    fn drop(&mut self) {
        let dispatcher = self.system.dispatcher();
        if dispatcher.alive.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Looked for first: what goes forgets its children.
            let cells = self.system.all_cells();
            dispatcher.close().for_each(drop_quietly);
            for cell in cells {
                if let Some(task) = cell.0.unpark() {
                    drop_quietly(task);
                }
            }
        }
    }
}
