//! What a look at a mailbox shows, without a message and without a clock.
//!
//! Two looks show what was handled in between: `pushed - waiting` counts what was handled.

use super::Mailbox;
use crate::base::sync::atomic::Ordering;

/// What a look at a mailbox shows. Two looks tell what happened between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vitals {
    /// How many messages were pushed so far. It wraps.
    pub(crate) pushed: u32,
    /// How many of them wait.
    pub(crate) waiting: usize,
    /// Whether the cell is in its turn or waits in a handler.
    pub(crate) handling: bool,
    /// The handler or hook that it entered last.
    pub(crate) entered: u16,
    /// For how many messages there is room, if it is bounded.
    pub(crate) capacity: Option<usize>,
}

impl Vitals {
    /// How many messages the cell has taken up. It wraps.
    pub(crate) fn taken_up(&self) -> u32 {
        self.pushed.wrapping_sub(u32::try_from(self.waiting).unwrap_or(u32::MAX))
    }
}

impl<M, C, S, R> Mailbox<M, C, S, R> {
    /// Says that the cell enters a handler or hook.
    #[inline]
    pub(crate) fn enter_code(&self, number: u16) {
        self.entered.store(number, Ordering::Relaxed);
    }

    /// The handler or hook that the cell entered last.
    pub(crate) fn entered(&self) -> u16 {
        self.entered.load(Ordering::Relaxed)
    }

    /// From now on, one in `one_in` messages is timed, or none if that is 0. `first`: and the next one. A mailbox that displaces
    /// messages is not timed.
    #[cfg(feature = "timing")]
    pub(crate) fn time(&self, one_in: u32, first: bool) {
        self.lock().sampler.arm(if self.displaces { 0 } else { one_in }, first);
    }

    /// The weight of a message that did not come through the lane, if it is to be timed.
    #[cfg(feature = "timing")]
    pub(crate) fn times_another(&self) -> Option<u32> {
        let mut lanes = self.lock();
        if lanes.sampler.chooses() { lanes.sampler.weight() } else { None }
    }

    /// What the mailbox is like now.
    pub(crate) fn vitals(&self) -> Vitals {
        let lanes = self.lock();
        Vitals {
            pushed: lanes.pushed,
            waiting: lanes.user.messages() + self.in_hand.load(Ordering::Relaxed),
            handling: self.handling.load(Ordering::Relaxed),
            entered: self.entered(),
            capacity: lanes.user.bound().map(|bound| bound.capacity),
        }
    }
}

#[cfg(all(test, not(supervise_loom)))]
impl<M, C, S, R> Mailbox<M, C, S, R> {
    /// How many controls wait.
    pub(crate) fn controls(&self) -> usize {
        self.lock().user.controls()
    }
}

#[cfg(all(test, not(supervise_loom)))]
mod tests {
    use std::collections::VecDeque;

    use super::super::{Chunk, MailboxKind, Overflow};
    use super::*;

    type Plain = Mailbox<u32, (), (), ()>;

    fn handled(mailbox: &Plain) -> u32 {
        mailbox.vitals().taken_up()
    }

    fn push(mailbox: &Plain, message: u32) {
        let _runner = mailbox.enter().push(message);
    }

    /// A message that was pushed and does not wait was handled, so a look needs no clock and no counter in the cell.
    #[test]
    fn what_was_handled_is_what_was_pushed_without_what_waits() {
        let mailbox = Plain::new(MailboxKind::Unbounded);
        let mut batch = Chunk::new();
        (0..5).for_each(|message| push(&mailbox, message));
        assert_eq!(handled(&mailbox), 0);
        mailbox.take_user(&mut batch);
        assert_eq!(handled(&mailbox), 0, "in hand, not yet begun");
        for begun in 1..=3 {
            mailbox.begin_next(&mut batch);
            assert_eq!(handled(&mailbox), begun);
        }
        push(&mailbox, 5);
        assert_eq!(handled(&mailbox), 3);
        let mut back = VecDeque::from([0]);
        back.extend(std::iter::from_fn(|| batch.pop_message()));
        assert_eq!(mailbox.put_back(back), Ok(()));
        assert_eq!(handled(&mailbox), 3, "one comes once more");
    }

    /// What waits when the lane is closed or emptied is lost.
    #[test]
    fn what_a_closed_lane_gives_back_is_not_handled() {
        for close in [true, false] {
            let mailbox = Plain::new(MailboxKind::Unbounded);
            let mut batch = Chunk::new();
            (0..5).for_each(|message| push(&mailbox, message));
            mailbox.take_user(&mut batch);
            mailbox.begin_next(&mut batch);
            push(&mailbox, 5);
            let lost = if close { mailbox.close_user_lane() } else { mailbox.drain_user_lane() };
            assert_eq!((lost.messages(), handled(&mailbox)), (1, 1));
        }
    }

    #[test]
    fn a_displaced_message_is_not_handled() {
        let mailbox = Plain::new(MailboxKind::Bounded { capacity: 2, overflow: Overflow::DropOldest });
        (0..9).for_each(|message| push(&mailbox, message));
        assert_eq!((mailbox.vitals().pushed, handled(&mailbox)), (2, 0));
    }
}
