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

mod chunk;
mod close;
mod kind;
mod lane;
#[cfg(all(test, supervise_loom))]
mod loom_tests;
mod push;
mod sample;
mod senders;
mod system_lane;
mod take;
mod vitals;

use std::fmt;

pub(crate) use self::chunk::{Chunk, Entry};
pub(crate) use self::close::SendersToWake;
pub use self::kind::{MailboxKind, Overflow};
pub(crate) use self::lane::Lane;
pub(crate) use self::push::{Pushed, SendGuard};
use self::sample::Sampler;
pub(crate) use self::system_lane::SystemLane;
pub(crate) use self::vitals::Vitals;
use crate::base::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use crate::base::sync::{Mutex, MutexGuard, PoisonError};

/// A mailbox for messages `M`, controls `C` that the runtime puts among them, system messages `S`, and a runner `R`.
///
/// The layout is fixed, because senders and the cell work on different processors: the lock and what a push writes come first, within
/// less than a cache line. What the cell reads and writes for each message comes last, at least a cache line away.
#[repr(C)]
pub(crate) struct Mailbox<M, C, S, R> {
    lanes: Mutex<Lanes<M, C, S, R>>,
    /// How many messages the cell has taken and has not begun to handle. Only the cell writes it.
    in_hand: AtomicUsize,
    /// Whether the system lane holds a message. Written under the lock, read without it, once per message.
    system_waits: AtomicBool,
    /// Whether a sender waits for room. Written under the lock, read without it.
    senders_wait: AtomicBool,
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
}

#[repr(C)]
struct Lanes<M, C, S, R> {
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
    /// Which of them are timed.
    sampler: Sampler,
    /// Only messages take up room.
    user: Lane<M, C>,
    /// The runner, while it has nothing to do.
    runner: Option<R>,
    system: SystemLane<S>,
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

impl<M, C, S, R> Mailbox<M, C, S, R> {
    pub(crate) fn new(kind: MailboxKind) -> Self {
        let lanes = Lanes {
            system: SystemLane::Empty,
            user: Lane::of_kind(kind),
            runner: None,
            for_user: false,
            woken: false,
            closed: Closed::default(),
            guarded: matches!(kind, MailboxKind::Bounded { .. }),
            pushed: 0,
            sampler: Sampler::OFF,
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

    /// How many messages may wait, if there is a bound.
    pub(crate) fn capacity(&self) -> Option<usize> {
        self.lock().user.bound().map(|bound| bound.capacity)
    }

    /// How many messages wait or are being handled. A hint: the number may change at any time.
    pub(crate) fn pending(&self) -> usize {
        self.waiting() + usize::from(self.handling.load(Ordering::Relaxed))
    }

    /// How many messages wait. Also a hint.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().user.messages() + self.in_hand.load(Ordering::Relaxed)
    }

    /// Whether a message that is sent now is refused, whatever the room.
    pub(crate) fn refuses_messages(&self) -> bool {
        self.lock().closed.to_messages()
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

impl<M, C, S, R> Lanes<M, C, S, R> {
    /// Takes the lane, whose messages this cell will not handle.
    fn take_all(&mut self) -> Lane<M, C> {
        let all = std::mem::replace(&mut self.user, Lane::new());
        self.not_handled(all.messages());
        all
    }

    /// Notes that this many messages were pushed and will not be handled.
    fn not_handled(&mut self, messages: usize) {
        self.pushed = self.pushed.wrapping_sub(u32::try_from(messages).unwrap_or(u32::MAX));
    }

    /// Returns the runner if it waited for the user lane.
    fn called(&mut self) -> Option<R> {
        if std::mem::take(&mut self.for_user) { self.runner.take() } else { None }
    }

    /// Puts the message into the lane. Returns the runner if it waited for the lane.
    #[inline]
    fn enqueue(&mut self, message: M) -> Option<R> {
        self.pushed = self.pushed.wrapping_add(1);
        self.user.push(message);
        self.time_last();
        self.called()
    }

    /// Marks the message that was pushed last, if it is timed.
    #[inline]
    fn time_last(&mut self) {
        if self.sampler.chooses() {
            self.mark_last();
        }
    }

    #[cold]
    #[inline(never)]
    fn mark_last(&mut self) {
        if let Some(weight) = self.sampler.weight() {
            self.user.mark_last(weight);
        }
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

    /// Otherwise a cell that was only woken by a system message would lock its mailbox once more.
    #[test]
    fn a_cell_that_takes_a_system_message_learns_whether_anything_else_waits() {
        let mailbox: Mailbox<u32, u32, u32, ()> = Mailbox::new(MailboxKind::Unbounded);
        let take = || {
            let mut looked = false;
            (mailbox.take_system(&mut looked), looked)
        };
        for system in [1, 2, 3] {
            assert_eq!(mailbox.push_system(system), Ok(None));
        }
        assert_eq!(take(), (Some(1), true));
        assert!(matches!(mailbox.enter().push(7), Pushed::Taken(None)));
        assert_eq!(take(), (Some(2), false));
        assert!(mailbox.take_user(&mut Chunk::new()));
        assert_eq!(mailbox.push_control(8), Ok(None));
        assert_eq!(take(), (Some(3), false), "a control");
    }

    #[test]
    fn nothing_is_displaced_by_the_room_of_what_is_being_begun() {
        let mailbox: Mailbox<u32, (), (), ()> =
            Mailbox::new(MailboxKind::Bounded { capacity: 2, overflow: Overflow::DropOldest });
        for message in [1, 2] {
            assert!(matches!(mailbox.enter().push(message), Pushed::Taken(None)));
        }
        let mut batch = Chunk::new();
        assert!(!mailbox.take_user(&mut batch));
        assert!(matches!(mailbox.enter().push(3), Pushed::Taken(None)), "2 is not the oldest");
        assert!(matches!(mailbox.enter().push(4), Pushed::Displaced(2)));
        assert_eq!(mailbox.begin_next(&mut batch), 1);
    }
}
