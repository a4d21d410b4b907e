//! A mailbox: a system lane and a user lane, one consumer, any number of senders.
//!
//! ```text
//!   senders ──push──► user lane   ─┐
//!                                  ├─► the cell: all of the system lane first, then one user message, and again
//!   actors ───push──► system lane ─┘
//! ```
//!
//! 1. The system lane does not share capacity with the user lane, and accepts every message while it is open.
//! 2. The lanes are closed separately, the user lane first. `close` returns the messages that were pushed before, and a
//!    later push returns its message. No message is lost.
//! 3. Between its turns the cell's runner is parked in here. A push takes it out if the runner waits for that lane, and
//!    the caller must run it. Parking checks the lanes under the same lock.
//! 4. No user code runs under the lock: a refused or displaced message is returned, and dropped outside the lock.
//!
//! The mailbox is generic over its messages.
//!
//! Rules 1.2 and 1.6.

mod drain;
mod lane;
#[cfg(all(test, supervise_loom))]
mod loom_tests;
mod senders;
mod system_lane;
mod vitals;

use std::collections::VecDeque;
use std::fmt;
use std::task::Waker;

pub(crate) use self::lane::{Entry, Lane};
use self::senders::{Bound, SendWaiter, Waiting};
pub(crate) use self::system_lane::SystemLane;
pub(crate) use self::vitals::Vitals;
use crate::base::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use crate::base::sync::{Mutex, MutexGuard, PoisonError};

/// The kind of an actor's mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailboxKind {
    /// Holds as many messages as memory allows.
    Unbounded,
    /// Holds at most `capacity` messages.
    Bounded {
        /// How many messages may wait. At least 1: [`Props::mailbox`](crate::Props::mailbox) panics otherwise, and a type's own mailbox
        /// does not compile.
        capacity: usize,
        /// What happens to a `tell` or an ask when it is full.
        overflow: Overflow,
    },
}

impl MailboxKind {
    /// The kind itself.
    ///
    /// # Panics
    ///
    /// If it is bounded and has no room.
    #[track_caller]
    pub(crate) const fn with_room(self) -> Self {
        if let Self::Bounded { capacity: 0, .. } = self {
            panic!("a mailbox needs room for at least 1 message");
        }
        self
    }
}

/// What happens when a bounded mailbox is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The sender gets the message back.
    Fail,
    /// The new message becomes a dead letter.
    DropNewest,
    /// The oldest waiting message becomes a dead letter.
    DropOldest,
}

/// A mailbox for messages `M`, controls `C` that the runtime puts among them, system messages `S`, and a runner `R`.
pub(crate) struct Mailbox<M, C, S, R> {
    /// Whether the system lane holds a message. Written under the lock, read without it, once per message.
    system_waits: AtomicBool,
    /// Whether a sender waits for room. Written under the lock, read without it.
    senders_wait: AtomicBool,
    /// How many messages the cell has taken and has not begun to handle. Only the cell writes it.
    in_hand: AtomicUsize,
    /// Whether the cell is handling a message. Only the cell writes it.
    handling: AtomicBool,
    /// Whether the runner, when it parks, waits for the user lane too. Only the cell writes it.
    accepts: AtomicBool,
    /// Whether the cell has handled a message that counts as activity since somebody [looked](Self::take_touched).
    touched: AtomicBool,
    /// Whether a later message may displace one that was pushed.
    displaces: bool,
    /// Which handler or hook the cell entered last, as a number of its actor's. Only the cell writes it.
    entered: AtomicU16,
    lanes: Mutex<Lanes<M, C, S, R>>,
}

struct Lanes<M, C, S, R> {
    system: SystemLane<S>,
    /// Only messages take up room.
    user: Lane<M, C>,
    /// The runner, while it has nothing to do.
    runner: Option<R>,
    /// Whether the runner that is or was parked waits for the user lane too.
    for_user: bool,
    /// The runner must run again, because it was called while it ran.
    woken: bool,
    closed: Closed,
    /// A push must take the slow path: the mailbox is closed, refuses messages or has a bound, or its askers have a limit in time.
    guarded: bool,
    /// How many messages were pushed and neither displaced another one, nor were given to a successor or back unhandled at the end.
    /// It wraps.
    pushed: u32,
    bound: Option<Box<Bound>>,
}

/// Which lanes are closed.
#[derive(Debug, Clone, Copy, Default)]
struct Closed(u8);

impl Closed {
    const USER: u8 = 1;
    const SYSTEM: u8 = 2;
    /// The user lane is open and refuses messages.
    const TO_MESSAGES: u8 = 4;

    fn user(self) -> bool {
        self.0 & Self::USER != 0
    }

    /// Whether a message that is sent now is refused.
    fn to_messages(self) -> bool {
        self.0 & (Self::USER | Self::TO_MESSAGES) != 0
    }

    fn system(self) -> bool {
        self.0 & Self::SYSTEM != 0
    }

    fn close(&mut self, lane: u8) {
        self.0 |= lane;
    }
}

/// The result of pushing a message.
#[derive(Debug)]
#[must_use = "a runner that is returned has to run"]
pub(crate) enum Pushed<M, R> {
    /// The lane accepted it. Holds the runner if it waited for this lane.
    Taken(Option<R>),
    /// This message was displaced or not accepted; it is a dead letter.
    Displaced(M),
    /// There is no room, and the sender gets the message back.
    Full(M),
    Closed(M),
}

impl<M, C, S, R> Mailbox<M, C, S, R> {
    pub(crate) fn new(kind: MailboxKind) -> Self {
        let bound = match kind {
            MailboxKind::Unbounded => None,
            MailboxKind::Bounded { capacity, overflow } => Some(Box::new(Bound::new(capacity, overflow))),
        };
        let lanes = Lanes {
            system: SystemLane::Empty,
            user: Lane::new(),
            runner: None,
            for_user: false,
            woken: false,
            closed: Closed::default(),
            guarded: bound.is_some(),
            pushed: 0,
            bound,
        };
        Self {
            system_waits: AtomicBool::new(false),
            senders_wait: AtomicBool::new(false),
            in_hand: AtomicUsize::new(0),
            handling: AtomicBool::new(false),
            accepts: AtomicBool::new(false),
            touched: AtomicBool::new(false),
            displaces: matches!(kind, MailboxKind::Bounded { overflow: Overflow::DropOldest, .. }),
            entered: AtomicU16::new(0),
            lanes: Mutex::new(lanes),
        }
    }

    /// Whether a later message may displace one that was pushed.
    pub(crate) fn displaces(&self) -> bool {
        self.displaces
    }

    // ---- senders -------------------------------------------------------------------------------------------------

    /// Locks the mailbox for one message.
    ///
    /// This is separate from [`push`](SendGuard::push), so that a message stays where it is until it can be moved into
    /// its lane. A message that has just been made would otherwise be read back in larger pieces than it was written
    /// in, and the processor would stall.
    #[inline]
    pub(crate) fn enter(&self) -> SendGuard<'_, M, C, S, R> {
        SendGuard {
            mailbox: self,
            lanes: self.lock(),
            #[cfg(feature = "spans")]
            before: None,
        }
    }

    // A separate function, so that unbounded mailboxes do not pay for it.
    #[inline(never)]
    fn push_guarded(&self, mut lanes: MutexGuard<'_, Lanes<M, C, S, R>>, message: M) -> Pushed<M, R> {
        if lanes.closed.to_messages() {
            return Pushed::Closed(message);
        }
        if self.admits(&lanes) {
            return Pushed::Taken(lanes.enqueue(message));
        }
        match lanes.bound.as_ref().map(|bound| bound.overflow) {
            None => Pushed::Closed(message),
            Some(Overflow::Fail) => Pushed::Full(message),
            Some(Overflow::DropNewest) => Pushed::Displaced(message),
            Some(Overflow::DropOldest) => match lanes.user.pop_message() {
                Some(oldest) => {
                    lanes.user.push(message);
                    Pushed::Displaced(oldest)
                }
                // All the room belongs to senders that were admitted and have not pushed yet, and this may be the last
                // push of all. So the message goes before one of theirs, and that sender finds no room and waits again.
                None => Pushed::Taken(lanes.enqueue(message)),
            },
        }
    }

    /// Whether there is room for one more message, and no other sender waits for it.
    fn admits(&self, lanes: &Lanes<M, C, S, R>) -> bool {
        lanes.bound.as_ref().map_or(!lanes.closed.user(), |bound| bound.waiting.is_empty() && self.has_room(lanes))
    }

    /// From now on every push takes the slow path, so that asks need no check of their own.
    pub(crate) fn guard(&self) {
        self.lock().guarded = true;
    }

    /// A waiter through which a sender can wait for room.
    pub(crate) fn place(&self) -> SendWaiter<'_, M, C, S, R> {
        SendWaiter {
            mailbox: self,
            ticket: None,
            #[cfg(feature = "spans")]
            before: None,
        }
    }

    /// Leaves a message if there is room. If there is none, gives it back and wakes `guest` when there may be: for a sender that
    /// has no [place](Self::place) here.
    pub(crate) fn push_as_guest(&self, message: M, guest: &Waker) -> Pushed<M, R> {
        let waker = guest.clone();
        let mut lanes = self.lock();
        if lanes.closed.to_messages() {
            return Pushed::Closed(message);
        }
        if self.admits(&lanes) {
            return Pushed::Taken(lanes.enqueue(message));
        }
        let waits_already = lanes.bound.as_mut().and_then(|bound| bound.wait_as_guest(waker));
        self.senders_wait.store(true, Ordering::Relaxed);
        drop(lanes);
        drop(waits_already);
        Pushed::Full(message)
    }

    /// Whether there is room for one more message. The message that the cell has just begun to handle may still count.
    fn has_room(&self, lanes: &Lanes<M, C, S, R>) -> bool {
        lanes.bound.as_ref().is_none_or(|bound| {
            lanes.user.messages() + self.in_hand.load(Ordering::Relaxed) + bound.let_in < bound.capacity
        })
    }

    /// Puts a control of the runtime at the tail of the user lane, regardless of the capacity.
    pub(crate) fn push_control(&self, control: C) -> Result<Option<R>, C> {
        let mut lanes = self.lock();
        if lanes.closed.user() {
            return Err(control);
        }
        lanes.user.push_control(control);
        Ok(lanes.called())
    }

    /// Returns the runner if it was parked, or the message if the lane is closed.
    pub(crate) fn push_system(&self, message: S) -> Result<Option<R>, S> {
        let mut lanes = self.lock();
        if lanes.closed.system() {
            return Err(message);
        }
        lanes.system.push(message);
        self.system_waits.store(true, Ordering::Release);
        Ok(lanes.runner.take())
    }

    /// Takes the system message back that waits last, if `undone` says so of it and of the one before it.
    pub(crate) fn take_back(&self, undone: impl FnOnce(&S, Option<&S>) -> bool) -> Option<S> {
        if !self.system_waits() {
            return None;
        }
        let mut lanes = self.lock();
        let (last, before) = lanes.system.last_two()?;
        if !undone(last, before) {
            return None;
        }
        let last = lanes.system.pop_last();
        self.system_waits.store(!lanes.system.is_empty(), Ordering::Release);
        last
    }

    /// Calls the runner for another reason: returns it if it is parked, and otherwise prevents it from parking the next
    /// time.
    #[must_use = "a runner that is returned has to run"]
    pub(crate) fn wake(&self) -> Option<R> {
        let mut lanes = self.lock();
        let runner = lanes.runner.take();
        lanes.woken = runner.is_none();
        runner
    }

    // ---- the cell ------------------------------------------------------------------------------------------------

    /// Whether the system lane holds a message: one atomic load.
    #[inline]
    pub(crate) fn system_waits(&self) -> bool {
        self.system_waits.load(Ordering::Acquire)
    }

    /// Takes the first message of the system lane.
    #[inline(never)]
    pub(crate) fn take_system(&self) -> Option<S> {
        let mut lanes = self.lock();
        let message = lanes.system.pop();
        self.system_waits.store(!lanes.system.is_empty(), Ordering::Release);
        message
    }

    /// [`take_user_beside`](Self::take_user_beside) for a cell that has kept no messages.
    #[cfg(test)]
    pub(crate) fn take_user(&self, batch: &mut Lane<M, C>) -> bool {
        self.take_user_beside(0, batch)
    }

    /// Moves what the cell may handle next into `batch`, which is empty: the whole lane, or one entry if messages may
    /// be displaced. Returns whether the lane is now empty. The cell has `kept` messages that it does not begin to handle.
    pub(crate) fn take_user_beside(&self, kept: usize, batch: &mut Lane<M, C>) -> bool {
        let mut lanes = self.lock();
        let all = if self.displaces && lanes.bound.is_some() {
            match lanes.user.pop() {
                Some(Entry::Message(message)) => batch.push(message),
                Some(Entry::Control(control)) => batch.push_control(control),
                None => {}
            }
            lanes.user.is_empty()
        } else {
            lanes.user.swap(batch);
            true
        };
        // If messages may be displaced, the cell takes only the one that it begins to handle.
        let taken = if self.displaces { 0 } else { batch.messages() };
        // Under the lock, so that moving a message into the batch does not look like room.
        self.in_hand.store(taken + kept, Ordering::Relaxed);
        all
    }

    /// Takes the first message of a batch, if there is one. This makes room for another message.
    #[inline]
    pub(crate) fn begin_next(&self, batch: &mut Lane<M, C>) -> M {
        self.in_hand.store(batch.messages() - 1, Ordering::Relaxed);
        if self.senders_wait() {
            self.let_senders_in();
        }
        batch.take_first()
    }

    /// Sets how many messages the cell has taken and has not begun to handle. This may make room.
    pub(crate) fn set_in_hand(&self, count: usize) {
        self.in_hand.store(count, Ordering::Relaxed);
        if self.senders_wait() {
            self.let_senders_in();
        }
    }

    /// How many messages may wait, if there is a bound.
    pub(crate) fn capacity(&self) -> Option<usize> {
        self.lock().bound.as_ref().map(|bound| bound.capacity)
    }

    /// Whether a sender waits for room: one atomic load.
    ///
    /// It may miss a sender that arrives just as room is made, until the next call. [`park`](Self::park) misses no
    /// sender.
    #[inline]
    pub(crate) fn senders_wait(&self) -> bool {
        self.senders_wait.load(Ordering::Relaxed)
    }

    /// Admits waiting senders, as far as there is room.
    #[cold]
    pub(crate) fn let_senders_in(&self) {
        while let Some(waker) = self.let_one_in() {
            waker.wake();
        }
    }

    fn let_one_in(&self) -> Option<Waker> {
        let mut lanes = self.lock();
        if !self.has_room(&lanes) {
            return None;
        }
        let bound = lanes.bound.as_mut()?;
        let first = bound.waiting.pop_front()?;
        bound.let_in += usize::from(!first.is_guest);
        self.senders_wait.store(!bound.waiting.is_empty(), Ordering::Relaxed);
        Some(first.waker)
    }

    /// Sets whether the cell is handling a message.
    pub(crate) fn set_handling(&self, handling: bool) {
        self.handling.store(handling, Ordering::Relaxed);
    }

    /// Says that the cell has handled a message that counts as activity.
    #[inline]
    pub(crate) fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    /// Whether there was activity since the last look.
    pub(crate) fn take_touched(&self) -> bool {
        self.touched.swap(false, Ordering::Relaxed)
    }

    /// How many messages wait or are being handled. A hint: the number may change at any time.
    pub(crate) fn pending(&self) -> usize {
        self.waiting() + usize::from(self.handling.load(Ordering::Relaxed))
    }

    /// How many messages wait. Also a hint.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().user.messages() + self.in_hand.load(Ordering::Relaxed)
    }

    /// Sets whether the runner waits for the user lane too, the next time it parks.
    pub(crate) fn set_accepts(&self, accepts: bool) {
        self.accepts.store(accepts, Ordering::Relaxed);
    }

    /// Parks the runner until something arrives. Returns it if something already has.
    pub(crate) fn park(&self, runner: R) -> Result<(), R> {
        let for_user = self.accepts.load(Ordering::Relaxed);
        let mut lanes = self.lock();
        if lanes.woken
            || self.system_waits()
            || (for_user && !lanes.user.is_empty())
            || (self.senders_wait() && self.has_room(&lanes))
        {
            lanes.woken = false;
            return Err(runner);
        }
        lanes.for_user = for_user;
        lanes.runner = Some(runner);
        Ok(())
    }

    /// Takes the parked runner out.
    pub(crate) fn unpark(&self) -> Option<R> {
        self.lock().runner.take()
    }

    /// Closes the user lane. Returns the entries that waited there.
    pub(crate) fn close_user_lane(&self) -> Lane<M, C> {
        let (leftovers, senders) = self.shut_user_lane();
        senders.wake();
        leftovers
    }

    /// Like [`close_user_lane`](Self::close_user_lane), for a caller that holds a lock: it returns the waiting senders, which
    /// the caller must wake.
    pub(crate) fn shut_user_lane(&self) -> (Lane<M, C>, SendersToWake) {
        let mut lanes = self.lock();
        lanes.closed.close(Closed::USER);
        lanes.guarded = true;
        let leftovers = lanes.take_all();
        let bound = lanes.bound.take();
        self.senders_wait.store(false, Ordering::Relaxed);
        (leftovers, SendersToWake(bound))
    }

    /// Takes what waits in the user lane, for a cell that will handle none of it. The lane stays open.
    pub(crate) fn drain_user_lane(&self) -> Lane<M, C> {
        let mut lanes = self.lock();
        lanes.not_handled(self.in_hand.swap(0, Ordering::Relaxed));
        lanes.take_all()
    }

    /// Puts messages that were taken back in front of those that wait, whatever the capacity.
    ///
    /// # Errors
    ///
    /// Gives them back if the lane has been closed in the meantime.
    pub(crate) fn put_back(&self, messages: VecDeque<M>) -> Result<(), VecDeque<M>> {
        let mut lanes = self.lock();
        if lanes.closed.user() {
            return Err(messages);
        }
        let taken = self.in_hand.swap(0, Ordering::Relaxed);
        // Those that were set aside or come from elsewhere count as pushed once more, so that they are handled once more.
        let more = u32::try_from(messages.len().saturating_sub(taken)).unwrap_or(u32::MAX);
        lanes.pushed = lanes.pushed.wrapping_add(more);
        for message in messages.into_iter().rev() {
            lanes.user.push_front(message);
        }
        Ok(())
    }

    /// Closes the system lane. Returns the entries that waited there.
    pub(crate) fn close_system_lane(&self) -> SystemLane<S> {
        let mut lanes = self.lock();
        lanes.closed.close(Closed::SYSTEM);
        std::mem::replace(&mut lanes.system, SystemLane::Empty)
    }

    /// Whether the user lane is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed.user()
    }

    fn lock(&self) -> MutexGuard<'_, Lanes<M, C, S, R>> {
        // No user code runs under this lock, so it cannot be poisoned half-way.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The senders that waited for room in a mailbox that was closed.
#[must_use = "they wait until they are woken"]
pub(crate) struct SendersToWake(Option<Box<Bound>>);

impl SendersToWake {
    pub(crate) fn wake(self) {
        for Waiting { waker, .. } in self.0.into_iter().flat_map(|bound| bound.waiting) {
            waker.wake();
        }
    }
}

/// The locked mailbox, ready for one message.
pub(crate) struct SendGuard<'a, M, C, S, R> {
    mailbox: &'a Mailbox<M, C, S, R>,
    lanes: MutexGuard<'a, Lanes<M, C, S, R>>,
    /// Stands right before the message, if that is accepted. Dropped after the lock.
    #[cfg(feature = "spans")]
    before: Option<C>,
}

impl<M, C, S, R> SendGuard<'_, M, C, S, R> {
    /// Puts `before` right before the message.
    #[cfg(feature = "spans")]
    #[inline]
    pub(crate) fn behind(self, before: Option<C>) -> Self {
        Self { before, ..self }
    }

    /// Only if the message is going to stand behind it, and stays there.
    #[cfg(feature = "spans")]
    #[cold]
    fn push_before(&mut self) {
        let is_refused =
            self.lanes.guarded && (self.lanes.closed.to_messages() || !self.mailbox.admits(&self.lanes));
        if !is_refused && !self.mailbox.displaces {
            self.before.take().into_iter().for_each(|before| self.lanes.user.push_control(before));
        }
    }

    /// Whether the push takes the slow path.
    #[inline]
    pub(crate) fn is_guarded(&self) -> bool {
        self.lanes.guarded
    }

    #[expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it")]
    #[inline(always)]
    pub(crate) fn push(mut self, message: M) -> Pushed<M, R> {
        #[cfg(feature = "spans")]
        if self.before.is_some() {
            self.push_before();
        }
        if self.lanes.guarded {
            return self.mailbox.push_guarded(self.lanes, message);
        }
        self.lanes.pushed = self.lanes.pushed.wrapping_add(1);
        self.lanes.user.push(message);
        if !self.lanes.for_user {
            return Pushed::Taken(None);
        }
        Pushed::Taken(self.lanes.called())
    }
}

impl<M, C, S, R> Lanes<M, C, S, R> {
    /// Takes what waits, which this cell will not handle.
    fn take_all(&mut self) -> Lane<M, C> {
        let all = std::mem::replace(&mut self.user, Lane::new());
        self.not_handled(all.messages());
        all
    }

    /// So many messages were pushed and will not be handled.
    fn not_handled(&mut self, messages: usize) {
        self.pushed = self.pushed.wrapping_sub(u32::try_from(messages).unwrap_or(u32::MAX));
    }

    /// Returns the runner if it waited for the user lane.
    fn called(&mut self) -> Option<R> {
        if std::mem::take(&mut self.for_user) { self.runner.take() } else { None }
    }

    #[inline]
    /// Puts the message into the lane. Returns the runner if it waited for the lane.
    fn enqueue(&mut self, message: M) -> Option<R> {
        self.pushed = self.pushed.wrapping_add(1);
        self.user.push(message);
        self.called()
    }
}

impl<M, C, S, R> fmt::Debug for Mailbox<M, C, S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(supervise_loom)))]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_displaced_by_the_room_of_what_is_being_begun() {
        let mailbox: Mailbox<u32, (), (), ()> =
            Mailbox::new(MailboxKind::Bounded { capacity: 2, overflow: Overflow::DropOldest });
        for message in [1, 2] {
            assert!(matches!(mailbox.enter().push(message), Pushed::Taken(None)));
        }
        let mut batch = Lane::new();
        assert!(!mailbox.take_user(&mut batch));
        assert!(matches!(mailbox.enter().push(3), Pushed::Taken(None)), "2 is not the oldest");
        assert!(matches!(mailbox.enter().push(4), Pushed::Displaced(2)));
        assert_eq!(mailbox.begin_next(&mut batch), 1);
    }
}
