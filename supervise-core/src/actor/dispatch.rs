//! Polls the cells: on resident tokio tasks, the *carriers*, one for each thread of the runtime.
//!
//! ```text
//!   a push finds the runner parked ──► Task ──► a carrier's queue ──► carrier: one turn ──► parked in its mailbox again
//!                                                    ▲    │ an idle carrier steals half
//!                                                    └────┘
//! ```
//!
//! An idle actor has no tokio task; its runner waits in its own mailbox. A carrier is woken through tokio only when it
//! had nothing to do, so messages between busy actors cost no task switch.
//!
//! 1. A [`Task`] exists once for each cell that has not ended. It is parked, queued or having its turn.
//! 2. A carrier lets tokio's other tasks run when it has spent its own budget or tokio's.
//! 3. When the carriers end, with their runtime or because the system has ended, all remaining tasks are dropped: a
//!    parked or queued task at once, and a task in a turn after that turn. Rule 6.6.
//! 4. An asker may give a parked actor its turn on the asker's own stack, for its own message alone
//!    ([`run_inline`](Dispatcher::run_inline)).
//! 5. A task does not wait for a turn that blocks its thread while another thread of the runtime is idle, with one
//!    exception: the task that a turn makes ready last may have to wait for the end of that turn, also if it is the only
//!    one. A plain tokio task would wait in the same case: in the slot of tokio's worker thread that other threads cannot
//!    steal from.
//!
//! Rules 1.9 and 1.10.
//!
//! This module does not know what a turn does. [`RunQueues`] decides which carrier takes which task, and [`OnlyQueue`]
//! does so on a current-thread runtime. The [`Crew`] finds a carrier for waiting tasks.

mod crew;
mod only_queue;
mod run_queues;

use std::cell::{Cell as Local, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::take;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};

use pin_project_lite::pin_project;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::AbortHandle;

use self::crew::Crew;
use self::only_queue::OnlyQueue;
use self::run_queues::NextTask;
use crate::actor::cell::AnyCell;
use crate::actor::system::SystemCore;
use crate::actor::waits_for;
use crate::base::{Payload, UserValue, contained, drop_contained};
use crate::failure::Failure;
use crate::observe;

/// A carrier's budget: how many messages and turns it handles before it lets tokio's other tasks run.
const BUDGET: u32 = 128;

/// The future of a cell, as one pointer, because queues and mailboxes pass it around.
pub(crate) struct Task(Pin<Box<Job<dyn Future<Output = ()> + Send>>>);

pin_project! {
    /// A cell's future, and the cell.
    struct Job<F: ?Sized> {
        cell: Arc<dyn AnyCell>,
        // Wakes the task when its user code can continue.
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

    /// Polls the cell once. Then parks it and calls `parked`, or queues it again if something has arrived during the
    /// turn. Returns whether the cell is queued again.
    #[inline]
    fn turn(mut self, parked: impl FnOnce(&dyn AnyCell)) -> bool {
        // Another thread may drop the task as soon as it is parked.
        let cell = Arc::clone(self.0.as_mut().project().cell);
        #[cfg(feature = "testkit")]
        let active = Arc::clone(&cell);
        #[cfg(feature = "testkit")]
        let _turn = active.core().system.activity().turn(&active);
        let job = self.0.as_mut().project();
        let (cell, polled) =
            waits_for::during(cell, || contained(|| job.body.poll(&mut TaskContext::from_waker(job.waker))));
        self.put_away(cell, polled, parked)
    }

    /// Like [`turn`](Self::turn), for a caller that keeps the cell.
    #[inline]
    fn turn_of(mut self, cell: &(dyn AnyCell + 'static), parked: impl FnOnce(&dyn AnyCell)) -> bool {
        if waits_for::KNOWN {
            return self.turn(parked);
        }
        let job = self.0.as_mut().project();
        let polled = contained(|| job.body.poll(&mut TaskContext::from_waker(job.waker)));
        self.put_away(cell, polled, parked)
    }

    #[inline]
    fn put_away(
        self,
        cell: impl Deref<Target = dyn AnyCell>,
        polled: Result<Poll<()>, Payload>,
        parked: impl FnOnce(&dyn AnyCell),
    ) -> bool {
        match polled {
            Ok(Poll::Pending) => {
                if let Err(again) = cell.park(self) {
                    cell.core().system.dispatcher().ready(again);
                    return true;
                }
                parked(&*cell);
            }
            Ok(Poll::Ready(())) => drop(self),
            Err(payload) => {
                observe::cell_broke(&cell.core().path(), &Failure::panic(payload));
                drop_contained(self);
            }
        }
        false
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

/// The carriers of one system and their queues.
pub(crate) struct Dispatcher {
    queues: Queues,
    /// How many residents are left.
    alive: AtomicUsize,
    /// No cell runs any more, because the runtime drops its tasks, or the last resident has done all
    /// remaining work.
    gone: AtomicBool,
}

enum Queues {
    /// On a current-thread runtime.
    Only(OnlyQueue<Task>),
    /// On a multi-threaded runtime.
    Many(Crew),
}

thread_local! {
    /// The carrier that this thread runs: its dispatcher's address and its index.
    static HERE: Local<(usize, usize)> = const { Local::new((0, 0)) };
    /// The carrier that this thread ran last: the memory it needs is still in this processor's cache.
    static NEAR: Local<(usize, usize)> = const { Local::new((0, 0)) };
    /// The rest of the carrier's budget.
    static BUDGET_LEFT: Local<u32> = const { Local::new(0) };
    /// The tasks that turns of the carrier of a current-thread runtime have made ready.
    static MADE_READY: RefCell<VecDeque<Task>> = const { RefCell::new(VecDeque::new()) };
    /// How many tasks the carrier's current turn has made ready.
    static TOLD: Local<u32> = const { Local::new(0) };
    /// How many turns on this stack run within another turn or an asker.
    static NESTED: Local<usize> = const { Local::new(0) };
    /// Whether a turn has woken something other than a cell since this was last reset.
    static WOKE_ELSEWHERE: Local<bool> = const { Local::new(false) };
    /// What the current turn may do.
    static EXTENT: Local<Extent> = const { Local::new(Extent::Whole) };
}

/// What a turn may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// On an asker's stack: handle the asker's message alone.
    Inline,
    /// On the stack of a child that has failed: handle system messages alone.
    Supervision,
}

/// How many turns may nest on one stack: a handler that runs inline may itself ask inline, and a supervisor may escalate.
const DEPTH: usize = 8;

/// Charges the carrier for the messages of its current turn.
pub(crate) fn charge(messages: u32) {
    BUDGET_LEFT.set(BUDGET_LEFT.get().saturating_sub(messages));
}

/// What the current turn may do.
#[inline]
pub(crate) fn extent() -> Extent {
    EXTENT.get()
}

/// Runs a turn within another one or on an asker's stack.
fn nested<T>(extent: Extent, turn: impl FnOnce() -> T) -> T {
    NESTED.set(NESTED.get() + 1);
    let outer = EXTENT.replace(extent);
    let value = turn();
    EXTENT.set(outer);
    NESTED.set(NESTED.get() - 1);
    value
}

/// Wakes an asker.
///
/// If the asker is a task of tokio's, the task may now lie in the slot of this thread that other threads cannot steal from. The
/// carrier returns to tokio before it gives another actor its turn, so that the asker never waits for that actor.
pub(crate) fn wake_asker(asker: Waker) {
    let before = WOKE_ELSEWHERE.replace(true);
    asker.wake();
    // `woke_a_cell` has reset it if the asker is an actor.
    WOKE_ELSEWHERE.set(before || WOKE_ELSEWHERE.get());
}

/// Notes that the waker that was called belongs to a cell.
pub(crate) fn woke_a_cell() {
    WOKE_ELSEWHERE.set(false);
}

/// Runs a future beside the actors of a system, until the future or the system ends.
pub(crate) fn start(system: &SystemCore, future: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
    #[cfg(feature = "testkit")]
    let future = super::activity::Counted::new(system.activity(), future);
    spawn(system.runtime(), Box::pin(future))
}

/// Takes a boxed future, so that a task of tokio's is compiled once and not once for each future.
fn spawn(runtime: &Handle, future: Pin<Box<dyn Future<Output = ()> + Send>>) -> AbortHandle {
    runtime.spawn(future).abort_handle()
}

impl Dispatcher {
    /// Makes a dispatcher whose carriers have not been started.
    pub(crate) fn new(runtime: &Handle) -> Self {
        if matches!(runtime.runtime_flavor(), RuntimeFlavor::CurrentThread) {
            return Self::of(Queues::Only(OnlyQueue::new()), 1);
        }
        let carriers = runtime.metrics().num_workers();
        // Each carrier, and its two scouts.
        Self::of(Queues::Many(Crew::new(carriers)), 3 * carriers)
    }

    fn of(queues: Queues, residents: usize) -> Self {
        Self { queues, alive: AtomicUsize::new(residents), gone: AtomicBool::new(false) }
    }

    /// Starts the carriers. Called once for each system.
    pub(crate) fn start(system: &Arc<SystemCore>) {
        match &system.dispatcher().queues {
            Queues::Only(_) => Resident::start(system, Self::work_alone),
            Queues::Many(crew) => {
                crew.belongs_to(system);
                for me in 0..crew.queues.carriers() {
                    Resident::start(system, move |dispatcher, cx| dispatcher.work(me, cx));
                    for scout in 0..2 {
                        Resident::start(system, move |dispatcher, cx| dispatcher.scout(me, scout, cx));
                    }
                }
                crew.wake_a_thread();
            }
        }
    }

    fn crew(&self) -> Option<&Crew> {
        match &self.queues {
            Queues::Only(_) => None,
            Queues::Many(crew) => Some(crew),
        }
    }

    /// Whether this thread runs a turn of one of this system's actors, other than on an asker's stack.
    pub(crate) fn is_here(&self) -> bool {
        HERE.get().0 == self.address()
    }

    /// Queues a task, or drops it if the carriers are gone.
    pub(crate) fn ready(&self, task: Task) {
        match &self.queues {
            Queues::Only(_) if self.is_here() => Self::ready_here(task),
            _ => self.ready_for_others(task),
        }
    }

    /// Queues a task in a turn of the only carrier. No other thread uses this queue, so no lock is needed.
    #[inline(never)]
    fn ready_here(task: Task) {
        MADE_READY.with_borrow_mut(|tasks| tasks.push_back(task));
    }

    /// Queues a task where other threads may look for it.
    #[inline(never)]
    fn ready_for_others(&self, task: Task) {
        let queued = match &self.queues {
            Queues::Only(queue) => queue.push(task),
            Queues::Many(crew) => match HERE.get() {
                (dispatcher, me) if dispatcher == self.address() => {
                    TOLD.set(TOLD.get().wrapping_add(1));
                    crew.push_here(me, task, TOLD.get())
                }
                _ => {
                    let (dispatcher, near) = NEAR.get();
                    crew.push_from_outside((dispatcher == self.address()).then_some(near), task)
                }
            },
        };
        if let Err(task) = queued {
            discard(task);
        }
    }

    /// Gives a task its turn on an asker's stack, for the asker's own message, unless too many turns are on this stack
    /// already.
    pub(crate) fn run_inline(&self, task: Task, cell: &(dyn AnyCell + 'static)) {
        if NESTED.get() == DEPTH {
            return self.ready(task);
        }
        // The asker may run on another runtime, or on none.
        let runtime = (HERE.get().0 != self.address()).then(|| cell.core().system.runtime().enter());
        let _again = nested(Extent::Inline, || task.turn_of(cell, |cell| self.discard_if_gone(cell)));
        drop(runtime);
    }

    /// Whether the supervisor of the actor whose turn it is may have a turn [within this one](Self::run_supervisor): its turn would
    /// be the next one anyway.
    pub(crate) fn has_nothing_before_a_supervisor(&self) -> bool {
        self.is_here() && extent() != Extent::Inline && NESTED.get() < DEPTH && self.nothing_waits_here()
    }

    /// Gives the task of an idle supervisor its turn on the stack of its child's turn, so that the child has the answer to its
    /// failure without another turn.
    pub(crate) fn run_supervisor(&self, task: Task, cell: &(dyn AnyCell + 'static)) {
        let _again = nested(Extent::Supervision, || task.turn_of(cell, |cell| self.discard_if_gone(cell)));
    }

    /// Whether a task that this turn makes ready would get the next turn.
    fn nothing_waits_here(&self) -> bool {
        match &self.queues {
            Queues::Only(_) => MADE_READY.with_borrow(VecDeque::is_empty),
            // An asker that was woken comes first.
            Queues::Many(crew) => !WOKE_ELSEWHERE.get() && crew.queues.waiting() == 0,
        }
    }

    /// Called after a cell was parked, in case the runtime went away during its turn. The code that ends the dispatcher
    /// sets `gone` before it looks for parked tasks, so one of the two finds the task.
    fn discard_if_gone(&self, cell: &dyn AnyCell) {
        if self.has_gone() {
            cell.unpark().into_iter().for_each(discard);
        }
    }

    /// Whether the carriers have gone. Until then, no task is dropped that has neither ended nor panicked.
    pub(crate) fn has_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    // ---- the carriers ---------------------------------------------------------------------------------------------

    /// One poll of a carrier of a multi-threaded runtime.
    fn work(&self, me: usize, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Queues::Many(crew) = &self.queues else { return Poll::Ready(()) };
        let here = (self.address(), me);
        let outer = HERE.replace(here);
        let outer_extent = EXTENT.replace(Extent::Whole);
        NEAR.set(here);
        BUDGET_LEFT.set(BUDGET);
        WOKE_ELSEWHERE.set(false);
        if crew.queues.begin(me) {
            crew.tell_both_scouts(me);
        }
        let poll = loop {
            let again = match crew.queues.next(me, cx) {
                Poll::Ready(Some(NextTask { task, more })) => {
                    if more {
                        crew.tell_both_scouts(me);
                    }
                    TOLD.set(0);
                    task.turn(|cell| self.discard_if_gone(cell))
                }
                Poll::Ready(None) => break Poll::Ready(()),
                Poll::Pending => break Poll::Pending,
            };
            // The actor's own next turn does not count: a hand-written loop would also continue with its next message.
            let is_awaited = WOKE_ELSEWHERE.get() && crew.queues.waiting() > usize::from(again);
            if turn_spends_the_budget() || is_awaited {
                crew.queues.yields(me);
                cx.waker().wake_by_ref();
                break Poll::Pending;
            }
        };
        HERE.set(outer);
        EXTENT.set(outer_extent);
        poll
    }

    /// One poll of a scout of carrier `me`.
    fn scout(&self, me: usize, which: usize, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.crew().map_or(Poll::Ready(()), |crew| crew.scout(me, which, cx))
    }

    /// One poll of the carrier of a current-thread runtime.
    fn work_alone(&self, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Queues::Only(queue) = &self.queues else { return Poll::Ready(()) };
        // Not empty only if a turn of another system's actor runs its own runtime.
        let outer_ready = MADE_READY.try_with(|tasks| {
            let mut tasks = tasks.borrow_mut();
            if tasks.is_empty() { None } else { Some(take(&mut *tasks)) }
        });
        let Ok(outer_ready) = outer_ready else { return Self::work_late(queue, cx) };
        let outer = HERE.replace((self.address(), 0));
        let outer_extent = EXTENT.replace(Extent::Whole);
        BUDGET_LEFT.set(BUDGET);
        // Once is enough, because a task that arrives later wakes this carrier.
        let rest = MADE_READY.with_borrow_mut(|tasks| queue.take_all(tasks, cx));
        let spent = loop {
            match MADE_READY.with_borrow_mut(VecDeque::pop_front) {
                Some(task) => {
                    // The runtime cannot go away while its only thread is here.
                    let _again = task.turn(|_| {});
                }
                None => break false,
            }
            if turn_spends_the_budget() {
                cx.waker().wake_by_ref();
                break true;
            }
        };
        HERE.set(outer);
        EXTENT.set(outer_extent);
        if spent {
            Self::give_back(queue);
        }
        if let Some(tasks) = outer_ready {
            MADE_READY.set(tasks);
        }
        if spent { Poll::Pending } else { rest }
    }

    /// Returns the tasks that the carrier of a current-thread runtime did not get to.
    #[cold]
    fn give_back(queue: &OnlyQueue<Task>) {
        let refused = MADE_READY.with_borrow_mut(|tasks| {
            if !tasks.is_empty() {
                queue.give_back(tasks);
            }
            // An empty queue keeps its memory.
            if tasks.is_empty() { None } else { Some(take(tasks)) }
        });
        refused.into_iter().flatten().for_each(discard);
    }

    /// One poll of the carrier of a current-thread runtime while its thread ends and [`MADE_READY`] is gone.
    #[cold]
    fn work_late(queue: &OnlyQueue<Task>, cx: &TaskContext<'_>) -> Poll<()> {
        let mut tasks = VecDeque::new();
        let rest = queue.take_all(&mut tasks, cx);
        for task in tasks {
            let _again = task.turn(|_| {});
        }
        rest
    }

    /// The system has ended: the carriers end when they have done the remaining work.
    pub(crate) fn end(&self) {
        match &self.queues {
            Queues::Only(queue) => queue.end(),
            Queues::Many(crew) => crew.end(),
        }
    }

    /// The last carrier is gone. Returns the remaining tasks.
    fn close(&self) -> Vec<Task> {
        match &self.queues {
            Queues::Only(queue) => queue.close().into(),
            Queues::Many(crew) => crew.queues.close().collect(),
        }
    }
}

/// Drops tasks that will get no further turn. Dropping an actor may wake another one, so this has to be a loop.
#[cold]
fn discard(task: Task) {
    drop(UserValue::new(task));
}

/// Charges the carrier for a turn. Returns whether its own budget or tokio's is spent.
fn turn_spends_the_budget() -> bool {
    charge(1);
    BUDGET_LEFT.get() == 0 || !tokio::task::coop::has_budget_remaining()
}

/// Held by the tokio task of each carrier and each scout.
struct Resident {
    system: Arc<SystemCore>,
    /// The system had ended, and this resident has done its remaining work.
    finished: bool,
}

impl Resident {
    /// Starts a carrier or a scout.
    fn start(
        system: &Arc<SystemCore>,
        work: impl Fn(&Dispatcher, &mut TaskContext<'_>) -> Poll<()> + Send + Sync + 'static,
    ) {
        let mut resident = Self { system: Arc::clone(system), finished: false };
        let resides = async move {
            poll_fn(|cx| work(resident.system.dispatcher(), cx)).await;
            resident.finish();
        };
        let task = spawn(system.runtime(), Box::pin(resides));
        #[cfg(all(feature = "durable", feature = "testkit"))]
        system.dies(task);
        #[cfg(not(all(feature = "durable", feature = "testkit")))]
        drop(task);
    }

    fn finish(&mut self) {
        self.finished = true;
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        let dispatcher = self.system.dispatcher();
        let last = dispatcher.alive.fetch_sub(1, Ordering::SeqCst) == 1;
        // A runtime that shuts down drops its idle tasks while a carrier may still be in a handler that blocks its
        // thread.
        if (last || !self.finished) && !dispatcher.gone.swap(true, Ordering::SeqCst) {
            // Collected first, because a cell that is dropped forgets its children.
            let cells = self.system.all_cells();
            dispatcher.close().into_iter().for_each(discard);
            for cell in cells {
                cell.0.unpark().into_iter().for_each(discard);
            }
            self.system.runtime_gone();
        }
    }
}
