//! The queues of the carriers of a multi-threaded runtime, and which carriers sleep. There is one queue per carrier, from
//! which the other carriers may steal.
//!
//! 1. A carrier puts the tasks that its turn makes ready into its own queue. It tells its scouts, which
//!    [look](RunQueues::look) for a carrier that can run the task while the turn continues.
//! 2. Other code puts a task into any queue and wakes a sleeping carrier for it.
//! 3. A carrier falls asleep by setting its bit first and reading the lengths of all queues afterwards. Code that wants
//!    to wake a carrier queues a task first and reads the bits afterwards. Both have a `SeqCst` fence in between, so at
//!    least one of the two sees the other.
//! 4. A carrier that a scout relies on (its phase is `Yielded` or `Called`) looks at all queues when it begins its next
//!    poll, after a fence of its own.
//!
//! This module is generic over tasks and does not use tokio: the scouts and the wakers belong to the
//! [crew](super::crew).

#[cfg(all(test, supervise_loom))]
mod loom_tests;

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use crate::base::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};
use crate::base::sync::{Mutex, MutexGuard, PoisonError};

/// The queues of tasks `T`, one for each carrier.
pub(super) struct RunQueues<T> {
    carriers: Box<[Apart<Carrier<T>>]>,
    /// A bit for each carrier that sleeps or is about to, and that has not been claimed.
    asleep: Box<[Apart<AtomicUsize>]>,
    /// The system has ended, so the carriers end when no task waits.
    over: AtomicBool,
    /// Which queue takes the next task from outside when no carrier sleeps.
    next: Box<Apart<AtomicUsize>>,
}

/// A value on cache lines of its own, so that a thread that writes it does not slow down those that use its neighbours. Processors
/// fetch lines of 64 bytes in pairs.
#[repr(align(128))]
struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

struct Carrier<T> {
    /// How many tasks wait. Written under the lock, read without it.
    waiting: AtomicUsize,
    /// A [`Phase`], as the carrier or a scout set it last.
    phase: AtomicU8,
    /// The waker of the carrier, which is always the same. It is set before the carrier first sleeps.
    waker: OnceLock<Waker>,
    queue: Mutex<Queue<T>>,
}

struct Queue<T> {
    tasks: VecDeque<T>,
    /// The carriers are gone.
    closed: bool,
}

/// What a carrier is doing, as far as the scouts need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// It sleeps, or was woken from outside and has not been polled yet.
    Resting,
    /// A scout has woken it, or it is new.
    Called,
    /// It is being polled. Its turn may block the thread.
    Polling,
    /// It has spent its budget and will be polled again.
    Yielded,
}

/// A task to be run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NextTask<T> {
    pub(super) task: T,
    /// Whether other tasks wait: in the carrier's own queue or, if the task was stolen, in any queue.
    pub(super) more: bool,
}

/// What a scout has found.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// No task waits, or a carrier will see it.
    Fine,
    /// Tasks wait, and every carrier may be in a turn that blocks its thread. The scout itself runs on a thread, so at least
    /// one of those threads is in `block_in_place` and has been replaced: one more carrier is needed.
    AllBusy,
}

const BITS: usize = usize::BITS as usize;

impl<T> RunQueues<T> {
    pub(super) fn new(carriers: usize) -> Self {
        Self {
            carriers: (0..carriers).map(|_| Apart(Carrier::new())).collect(),
            asleep: (0..carriers.div_ceil(BITS)).map(|_| Apart(AtomicUsize::new(0))).collect(),
            over: AtomicBool::new(false),
            next: Box::new(Apart(AtomicUsize::new(0))),
        }
    }

    /// The number of carriers.
    pub(super) fn carriers(&self) -> usize {
        self.carriers.len()
    }

    // ---- queueing tasks ------------------------------------------------------------------------------------------

    /// Queues a task from a turn of the carrier `me`, whose scouts must then be told. Returns how many tasks its queue
    /// now holds, or the task if the carriers are gone.
    pub(super) fn push_here(&self, me: usize, task: T) -> Result<usize, T> {
        self.carriers[me].push(task)
    }

    /// Queues a task from outside, preferably for the carrier `near`, and wakes a carrier that sleeps. Returns whether
    /// there was one, or the task if the carriers are gone.
    pub(super) fn push_from_outside(&self, near: Option<usize>, task: T) -> Result<bool, T> {
        let sleeper = self.sleeper(near);
        let at = sleeper.unwrap_or_else(|| self.next.fetch_add(1, Ordering::Relaxed) % self.carriers.len());
        self.carriers[at].push(task)?;
        // This sleeper is claimed without a fence, because it was seen asleep before the task was queued.
        if sleeper.is_some() && self.claim(at) {
            self.carriers[at].wake();
            return Ok(true);
        }
        fence(Ordering::SeqCst);
        Ok(self.claim_any().map(|at| self.carriers[at].wake()).is_some())
    }

    /// A carrier that seems to sleep. It has not been claimed.
    fn sleeper(&self, near: Option<usize>) -> Option<usize> {
        near.filter(|near| self.sleeps(*near)).or_else(|| {
            let asleep = self.asleep.iter().map(|word| word.load(Ordering::Relaxed)).enumerate();
            let (word, bits) = asleep.into_iter().find(|(_, bits)| *bits != 0)?;
            Some(word * BITS + bits.trailing_zeros() as usize)
        })
    }

    fn sleeps(&self, at: usize) -> bool {
        // A thread may remember a carrier of an earlier system with more carriers.
        self.asleep.get(at / BITS).is_some_and(|word| word.load(Ordering::Relaxed) & (1 << (at % BITS)) != 0)
    }

    /// Claims a carrier that sleeps, after a fence. Invariant 3.
    fn claim_any(&self) -> Option<usize> {
        while let Some(sleeper) = self.sleeper(None) {
            if self.claim(sleeper) {
                return Some(sleeper);
            }
        }
        None
    }

    /// Ends a carrier's sleep. Returns whether it slept and had not been claimed by other code.
    ///
    /// Release: the claimer has queued a task before. Acquire: the claimed carrier looks at the queues afterwards.
    fn claim(&self, at: usize) -> bool {
        let bit = 1 << (at % BITS);
        self.sleeps(at) && self.asleep[at / BITS].fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Looks for tasks that wait behind a turn of the carrier `of`, and wakes a carrier that sleeps for them.
    ///
    /// It takes that carrier's lock, so that a task is either seen here or was queued after this look, in which case the
    /// scout is told once more.
    pub(super) fn look(&self, of: Option<usize>) -> Look {
        let waits = of.is_some_and(|of| !self.carriers[of].lock().tasks.is_empty());
        if !waits && !self.any_waits() {
            return Look::Fine;
        }
        fence(Ordering::SeqCst);
        if let Some(sleeper) = self.claim_any() {
            self.carriers[sleeper].set_phase(Phase::Called);
            self.carriers[sleeper].wake();
            return Look::Fine;
        }
        self.busy()
    }

    /// Whether all carriers may be blocked, if none of them sleeps.
    pub(super) fn busy(&self) -> Look {
        let comes = |carrier: &Apart<Carrier<T>>| {
            let phase = carrier.phase.load(Ordering::Relaxed);
            phase == Phase::Called as u8 || phase == Phase::Yielded as u8
        };
        if self.carriers.iter().any(comes) { Look::Fine } else { Look::AllBusy }
    }

    /// How many tasks wait in all queues: a hint.
    pub(super) fn waiting(&self) -> usize {
        self.carriers.iter().map(|carrier| carrier.waiting.load(Ordering::Relaxed)).sum()
    }

    /// Whether a task waits in any queue: a hint.
    fn any_waits(&self) -> bool {
        self.carriers.iter().any(|carrier| carrier.has_some())
    }

    // ---- the carriers ---------------------------------------------------------------------------------------------

    /// Carrier `me` begins a poll. Returns whether tasks wait both in its own queue and in another one. A scout may have
    /// relied on this carrier for the other one, so its own scouts must then be told. Invariant 4.
    pub(super) fn begin(&self, me: usize) -> bool {
        let carrier = &self.carriers[me];
        let phase = carrier.phase.load(Ordering::Relaxed);
        carrier.set_phase(Phase::Polling);
        self.claim(me);
        if phase == Phase::Resting as u8 {
            return false;
        }
        fence(Ordering::SeqCst);
        carrier.has_some() && self.others(me).any(Carrier::has_some)
    }

    /// Carrier `me` ends a poll and will be polled again.
    pub(super) fn yields(&self, me: usize) {
        self.carriers[me].set_phase(Phase::Yielded);
    }

    /// Gives carrier `me` its next task. `Pending` means that the carrier sleeps, `None` that the system has ended
    /// and no task waits.
    pub(super) fn next(&self, me: usize, cx: &Context<'_>) -> Poll<Option<NextTask<T>>> {
        loop {
            let own = self.carriers[me].take_first();
            if let Some(taken) = own.or_else(|| self.others(me).find_map(|victim| self.steal(me, victim))) {
                return Poll::Ready(Some(taken));
            }
            if let Some(end) = self.sleep(me, cx) {
                return end;
            }
        }
    }

    /// Takes a task for a spare, which has no queue.
    pub(super) fn take_any(&self) -> Option<NextTask<T>> {
        let taken = self.carriers.iter().find_map(|carrier| carrier.take_first())?;
        Some(NextTask { more: taken.more || self.any_waits(), ..taken })
    }

    fn others(&self, me: usize) -> impl Iterator<Item = &Carrier<T>> {
        let (before, from) = self.carriers.split_at(me);
        from[1..].iter().chain(before).map(|carrier| &**carrier)
    }

    /// Takes the older half of another carrier's queue. Returns the first task of it.
    fn steal(&self, me: usize, victim: &Carrier<T>) -> Option<NextTask<T>> {
        if !victim.has_some() {
            return None;
        }
        let mut queue = victim.lock();
        let half = queue.tasks.len().div_ceil(2);
        let task = queue.tasks.pop_front()?;
        let stolen: Vec<T> = queue.tasks.drain(..half - 1).collect();
        victim.set_waiting(&queue);
        drop(queue);
        if !stolen.is_empty() {
            let carrier = &self.carriers[me];
            let mut queue = carrier.lock();
            queue.tasks.extend(stolen);
            carrier.set_waiting(&queue);
        }
        // A scout may have called this carrier for a task in a queue other than this one.
        Some(NextTask { task, more: self.any_waits() })
    }

    /// Lets carrier `me` fall asleep if no task waits. `None`: a task waits.
    fn sleep(&self, me: usize, cx: &Context<'_>) -> Option<Poll<Option<NextTask<T>>>> {
        let carrier = &self.carriers[me];
        carrier.remember(cx);
        carrier.set_phase(Phase::Resting);
        // Invariant 3.
        self.asleep[me / BITS].fetch_or(1 << (me % BITS), Ordering::AcqRel);
        fence(Ordering::SeqCst);
        let over = self.over.load(Ordering::Relaxed);
        if !over && !self.any_waits() {
            return Some(Poll::Pending);
        }
        if !self.claim(me) {
            // Other code has claimed this carrier, and wakes it.
            return Some(Poll::Pending);
        }
        carrier.set_phase(Phase::Polling);
        (over && !self.any_waits()).then_some(Poll::Ready(None))
    }

    // ---- the end -------------------------------------------------------------------------------------------------

    /// The carriers end when they have done the remaining work.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        // A carrier without a waker has not slept yet, and sees that it is over before it does.
        self.carriers.iter().for_each(|carrier| carrier.wake());
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The carriers are gone. Returns the remaining tasks.
    pub(super) fn close(&self) -> impl Iterator<Item = T> {
        self.carriers.iter().flat_map(|carrier| {
            let mut queue = carrier.lock();
            queue.closed = true;
            let left = std::mem::take(&mut queue.tasks);
            carrier.set_waiting(&queue);
            left
        })
    }
}

impl<T> Carrier<T> {
    fn new() -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            // The runtime polls each carrier once when it is spawned.
            phase: AtomicU8::new(Phase::Called as u8),
            waker: OnceLock::new(),
            queue: Mutex::new(Queue { tasks: VecDeque::new(), closed: false }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether tasks wait: a hint.
    fn has_some(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn set_waiting(&self, queue: &Queue<T>) -> usize {
        let waiting = queue.tasks.len();
        self.waiting.store(waiting, Ordering::Relaxed);
        waiting
    }

    fn push(&self, task: T) -> Result<usize, T> {
        let mut queue = self.lock();
        if queue.closed {
            return Err(task);
        }
        queue.tasks.push_back(task);
        Ok(self.set_waiting(&queue))
    }

    #[inline]
    fn take_first(&self) -> Option<NextTask<T>> {
        if self.has_some() { self.take_waiting() } else { None }
    }

    fn take_waiting(&self) -> Option<NextTask<T>> {
        let mut queue = self.lock();
        let task = queue.tasks.pop_front()?;
        Some(NextTask { task, more: self.set_waiting(&queue) > 0 })
    }

    fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    fn remember(&self, cx: &Context<'_>) {
        // Each carrier is one task, so its first waker stays good. `Waker::will_wake` could not confirm that: it may deny it of equal wakers.
        self.waker.get_or_init(|| cx.waker().clone());
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
}

#[cfg(all(test, not(supervise_loom)))]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    /// A carrier's task that is never polled.
    struct Carrier;

    impl Wake for Carrier {
        fn wake(self: Arc<Self>) {}
    }

    fn task(poll: Poll<Option<NextTask<u32>>>) -> NextTask<u32> {
        match poll {
            Poll::Ready(Some(taken)) => taken,
            other => panic!("no task: {other:?}"),
        }
    }

    /// The task that it was called for may be in the other queue.
    #[test]
    fn a_carrier_that_steals_says_whether_a_task_waits_in_any_queue() {
        let queues = RunQueues::new(3);
        queues.push_here(0, 7).unwrap();
        queues.push_here(1, 8).unwrap();
        let waker = Waker::from(Arc::new(Carrier));
        let cx = Context::from_waker(&waker);
        assert_eq!(task(queues.next(2, &cx)), NextTask { task: 7, more: true });
        assert_eq!(task(queues.next(2, &cx)), NextTask { task: 8, more: false });
        assert!(queues.next(2, &cx).is_pending());
    }

    #[test]
    fn more_carriers_than_a_word_has_bits_can_be_woken() {
        let queues = RunQueues::new(130);
        let waker = Waker::from(Arc::new(Carrier));
        let cx = Context::from_waker(&waker);
        for me in [3, 64, 129] {
            assert!(queues.next(me, &cx).is_pending());
        }
        let woken = (0..3).map(|task| {
            assert!(queues.push_from_outside(Some(129), task).unwrap(), "one sleeps");
            [3, 64, 129].into_iter().filter(|me| !queues.sleeps(*me)).collect::<Vec<_>>()
        });
        assert_eq!(woken.collect::<Vec<_>>(), [vec![129], vec![3, 129], vec![3, 64, 129]]);
        assert!(!queues.push_from_outside(None, 3).unwrap(), "nobody sleeps any more");
        assert!(!queues.push_from_outside(Some(1000), 4).unwrap(), "there is no such carrier");
    }
}
