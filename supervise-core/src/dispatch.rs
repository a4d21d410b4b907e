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
//! 2. A worker lets tokio's other tasks run when it has spent its budget, its own or tokio's.
//! 3. When the last worker goes, with its runtime or because the system has ended, all tasks that are left go too.
//! 4. Who finds a runner parked may also give it its turn at once, on its own stack ([`run_here`](Dispatcher::run_here)).
//!
//! What a turn does is not known here, nor which worker takes which task: that is [`RunQueues`].

mod run_queues;

use std::cell::{Cell as Local, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};

use pin_project_lite::pin_project;
use tokio::runtime::Handle;

use self::run_queues::RunQueues;
use crate::cell::AnyCell;
use crate::failure::Failure;
use crate::observe;
use crate::system::SystemCore;
use crate::unwind::{contained, drop_quietly};

/// How many messages and turns a worker gives the actors before it lets tokio's other tasks run.
const BUDGET: usize = 128;

/// What runs a cell. Small, because it goes from hand to hand.
pub(crate) struct Task(Pin<Box<Job<dyn Future<Output = ()> + Send>>>);

pin_project! {
    /// A cell's future, and who it is.
    struct Job<F: ?Sized> {
        cell: Arc<dyn AnyCell>,
        // Wakes the task, for whatever its user code waits for.
        waker: Waker,
        #[pin]
        body: F,
    }
}

impl Task {
    pub(crate) fn new(
        cell: Arc<dyn AnyCell>,
        waker: Waker,
        body: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self(Box::pin(Job { cell, waker, body }))
    }

    /// Polls the cell once. Parks it, or queues it again where something has come meanwhile.
    fn turn(mut self) {
        let cell = Arc::clone(&self.0.cell);
        #[cfg(feature = "testkit")]
        let _turn = cell.core().system.activity().turn(&cell);
        let job = self.0.as_mut().project();
        match contained(|| job.body.poll(&mut TaskContext::from_waker(job.waker))) {
            Ok(Poll::Pending) => {
                if let Err(again) = cell.park(self) {
                    cell.core().system.dispatcher().ready(again);
                }
            }
            Ok(Poll::Ready(())) => drop(self),
            Err(payload) => {
                observe::cell_broke(&cell.core().path(), &Failure::panic(payload));
                drop_quietly(self);
            }
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
    queues: RunQueues<Task>,
    /// How many workers there are still.
    alive: AtomicUsize,
}

thread_local! {
    /// The worker that this thread runs: its dispatcher's address and its index.
    static HERE: Local<(usize, usize)> = const { Local::new((0, 0)) };
    /// What is left of the worker's budget.
    static BUDGET_LEFT: Local<usize> = const { Local::new(0) };
    /// What this thread's worker has made ready, where no other could take it.
    static MADE_READY: RefCell<VecDeque<Task>> = const { RefCell::new(VecDeque::new()) };
    /// How many turns stand on this stack that no worker has begun.
    static INLINE: Local<usize> = const { Local::new(0) };
}

/// How many turns may stand on one stack: handlers that are asked inline may ask others so.
const DEPTH: usize = 8;

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
        Self { queues: RunQueues::new(workers), alive: AtomicUsize::new(workers) }
    }

    /// Starts the workers. Once for each system.
    pub(crate) fn start(system: &Arc<SystemCore>) {
        for me in 0..system.dispatcher().queues.workers() {
            let resident = Resident { system: Arc::clone(system) };
            drop(system.runtime().spawn(async move {
                poll_fn(|cx| resident.system.dispatcher().work(me, cx)).await;
            }));
        }
    }

    /// Queues a task. Where the workers are gone, it goes too.
    pub(crate) fn ready(&self, task: Task) {
        let (dispatcher, me) = HERE.get();
        let here = dispatcher == self.address();
        if here && self.works_alone() {
            // Nobody else looks, so nobody has to be locked out.
            return MADE_READY.with_borrow_mut(|tasks| tasks.push_back(task));
        }
        let refused = if here { self.queues.push_here(me, task) } else { self.queues.push_from_outside(task) };
        go_if_refused(refused);
    }

    /// Gives a task its turn on the caller's stack, unless too many stand there already.
    pub(crate) fn run_here(&self, task: Task, system: &SystemCore) {
        if INLINE.get() == DEPTH {
            return self.ready(task);
        }
        let cell = Arc::clone(&task.0.cell);
        // Who asks may be of another runtime, or of none.
        let runtime = (HERE.get().0 != self.address()).then(|| system.runtime().enter());
        INLINE.set(INLINE.get() + 1);
        task.turn();
        INLINE.set(INLINE.get() - 1);
        drop(runtime);
        // Invariant 3, if the last worker went meanwhile.
        if self.has_gone()
            && let Some(task) = cell.unpark()
        {
            drop_quietly(task);
        }
    }

    /// Whether the last worker has gone. Until then, no task is dropped that has neither ended nor panicked.
    pub(crate) fn has_gone(&self) -> bool {
        self.alive.load(Ordering::SeqCst) == 0
    }

    /// Whether there is one worker.
    fn works_alone(&self) -> bool {
        self.queues.workers() == 1
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn work(&self, me: usize, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.queues.rise(me);
        let outer = HERE.replace((self.address(), me));
        // Not empty only where a turn of another system runs a runtime of its own.
        let outer_ready =
            MADE_READY.with_borrow_mut(|tasks| if tasks.is_empty() { None } else { Some(take(tasks)) });
        BUDGET_LEFT.set(BUDGET);
        let alone = self.works_alone();
        // Once, because what comes meanwhile has this worker woken.
        let rest = if alone {
            MADE_READY.with_borrow_mut(|tasks| self.queues.take_all(tasks, cx))
        } else {
            Poll::Pending
        };
        let poll = loop {
            match MADE_READY.with_borrow_mut(VecDeque::pop_front) {
                Some(task) => task.turn(),
                None if alone => break rest,
                None => match self.queues.next(me, cx) {
                    Poll::Ready(Some(task)) => task.turn(),
                    Poll::Ready(None) => break Poll::Ready(()),
                    Poll::Pending => break Poll::Pending,
                },
            }
            charge(1);
            if BUDGET_LEFT.get() == 0 || !tokio::task::coop::has_budget_remaining() {
                cx.waker().wake_by_ref();
                break Poll::Pending;
            }
        };
        HERE.set(outer);
        // Out of turns.
        let refused = MADE_READY.with_borrow_mut(|tasks| {
            if !tasks.is_empty() {
                self.queues.give_back(tasks);
            }
            if tasks.is_empty() { None } else { Some(take(tasks)) }
        });
        refused.into_iter().flatten().for_each(drop_quietly);
        if let Some(tasks) = outer_ready {
            MADE_READY.set(tasks);
        }
        poll
    }

    /// The system has ended: the workers go when they have done what is left.
    pub(crate) fn end(&self) {
        self.queues.end();
    }
}

/// Where the workers are gone, what was to be queued goes too.
fn go_if_refused(queued: Result<(), Task>) {
    if let Err(task) = queued {
        drop_quietly(task);
    }
}

/// Held by each worker's future.
struct Resident {
    system: Arc<SystemCore>,
}

impl Drop for Resident {
    fn drop(&mut self) {
        let dispatcher = self.system.dispatcher();
        if dispatcher.alive.fetch_sub(1, Ordering::SeqCst) == 1 {
            // Looked for first: what goes forgets its children.
            let cells = self.system.all_cells();
            dispatcher.queues.close().for_each(drop_quietly);
            for cell in cells {
                if let Some(task) = cell.0.unpark() {
                    drop_quietly(task);
                }
            }
            self.system.runtime_gone();
        }
    }
}
