//! The carriers of a multi-threaded runtime, and their helpers, which tell a carrier that a task waits.
//!
//! Invariant 5 of the [dispatcher](super) needs care, because a carrier that is woken from within a turn may itself end
//! up in the slot that other threads cannot steal from: tokio puts the task that was woken last there. So a turn wakes
//! no carrier. It wakes its carrier's two *scouts*, tokio tasks that only look for waiting tasks and wake a carrier for
//! them. One thread has one such slot, so of two scouts at least one can be stolen. A scout returns at once, so a
//! carrier that it has woken is never stuck behind it.
//!
//! A tokio thread that is just falling asleep may miss both scouts: it does not check again, and tokio only wakes
//! threads that already sleep. Anything else that wakes the thread makes up for that. A turn that continues to make
//! tasks ready does so itself: it [wakes a thread](Crew::wake_a_thread) again from time to time.
//!
//! A turn in `block_in_place` keeps its carrier busy, while tokio replaces the thread. When the scouts find that all carriers
//! may be busy like this, they start a spare: a tokio task for one turn.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context as TaskContext, Poll, Waker};

use super::run_queues::{Look, NextTask, RunQueues};
use super::{Task, spawn};
use crate::actor::system::SystemCore;

/// The carriers of a multi-threaded runtime, and their scouts.
pub(super) struct Crew {
    pub(super) queues: RunQueues<Task>,
    /// Two for each carrier.
    scouts: Box<[[Scout; 2]]>,
    /// A spare has been started and has not begun to run.
    spare_comes: AtomicBool,
    /// Code outside the carriers has started a scout that has not looked yet.
    scout_comes: AtomicBool,
    system: OnceLock<Weak<SystemCore>>,
}

/// The waker of a scout, set when it is first polled. Before that, tokio has yet to poll it anyway.
type Scout = OnceLock<Waker>;

impl Crew {
    pub(super) fn new(carriers: usize) -> Self {
        Self {
            queues: RunQueues::new(carriers),
            scouts: (0..carriers).map(|_| [Scout::new(), Scout::new()]).collect(),
            spare_comes: AtomicBool::new(false),
            scout_comes: AtomicBool::new(false),
            system: OnceLock::new(),
        }
    }

    /// Called once, before the carriers start.
    pub(super) fn belongs_to(&self, system: &Arc<SystemCore>) {
        let _once = self.system.set(Arc::downgrade(system));
    }

    /// Queues a task that a turn of the carrier `me` has made ready. It is the turn's `told`th.
    pub(super) fn push_here(&self, me: usize, task: Task, told: u32) -> Result<(), Task> {
        match self.queues.push_here(me, task)? {
            // In case the turn enters `block_in_place`. Otherwise this carrier takes the task next.
            1 => self.tell_scout(me, 0),
            _ => self.tell_both_scouts(me),
        }
        // At growing intervals, because waking a busy thread has no effect.
        if told >= 8 && told.is_power_of_two() {
            self.wake_a_thread();
        }
        Ok(())
    }

    pub(super) fn push_from_outside(&self, near: Option<usize>, task: Task) -> Result<(), Task> {
        let woken = self.queues.push_from_outside(near, task)?;
        if !woken && self.queues.busy() == Look::AllBusy && !self.scout_comes.swap(true, Ordering::SeqCst) {
            self.start_scout();
        }
        Ok(())
    }

    /// Wakes a scout, unless it has been woken and has not looked yet.
    fn tell_scout(&self, me: usize, which: usize) {
        if let Some(waker) = self.scouts[me][which].get() {
            waker.wake_by_ref();
        }
    }

    pub(super) fn tell_both_scouts(&self, me: usize) {
        self.tell_scout(me, 0);
        self.tell_scout(me, 1);
    }

    /// One poll of a scout of carrier `me`.
    pub(super) fn scout(&self, me: usize, which: usize, cx: &TaskContext<'_>) -> Poll<()> {
        self.scouts[me][which].get_or_init(|| cx.waker().clone());
        // The end is announced first, and then wakes the scouts that have left a waker.
        fence(Ordering::SeqCst);
        if self.queues.is_over() {
            return Poll::Ready(());
        }
        self.look(Some(me));
        Poll::Pending
    }

    /// Starts a scout that does not belong to a carrier and looks once.
    fn start_scout(&self) {
        self.start(|crew| {
            crew.scout_comes.store(false, Ordering::SeqCst);
            crew.look(None);
        });
        self.wake_a_thread();
    }

    /// Moves the tokio task that this thread has woken last out of the slot that other threads cannot steal from. This makes
    /// tokio wake a thread that steals the task.
    pub(super) fn wake_a_thread(&self) {
        self.start(|_| {});
    }

    fn look(&self, of: Option<usize>) {
        if self.queues.look(of) == Look::AllBusy && !self.spare_comes.swap(true, Ordering::SeqCst) {
            self.start(Self::run_spare);
        }
    }

    /// Gives one task its turn, in place of a carrier that is in `block_in_place`.
    fn run_spare(&self) {
        self.spare_comes.store(false, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let Some(NextTask { task, more }) = self.queues.take_any() else { return };
        if more {
            // Two scouts, as for a carrier.
            self.start_scout();
            self.start_scout();
        }
        let _again = task.turn(|cell| cell.core().system.dispatcher().discard_if_gone(cell));
        self.look(None);
    }

    /// Runs `code` once, in a new tokio task.
    fn start(&self, code: fn(&Self)) {
        let Some(system) = self.system.get().and_then(Weak::upgrade) else { return };
        let runtime = system.runtime().clone();
        let once = async move {
            if let Some(crew) = system.dispatcher().crew() {
                code(crew);
            }
        };
        drop(spawn(&runtime, Box::pin(once)));
    }

    pub(super) fn end(&self) {
        self.queues.end();
        fence(Ordering::SeqCst);
        (0..self.scouts.len()).for_each(|me| self.tell_both_scouts(me));
    }
}
