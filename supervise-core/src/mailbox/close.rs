//! Closing the lanes, and refusing messages before the user lane is closed.
//!
//! Rules 6.3, 18.3 and 23.4.

use std::collections::VecDeque;
use std::task::Waker;

use super::senders::{Bound, Waiting};
use super::{Closed, Lane, Mailbox, SystemLane};
use crate::base::sync::atomic::Ordering;

/// A runner to be run, and the senders that waited for room.
pub(crate) type Drained<R> = (Option<R>, Vec<Waker>);

impl<M, C, S, R> Mailbox<M, C, S, R> {
    /// Refuses every message from now on, and puts `last` behind those that wait. The caller must wake the senders that waited
    /// for room, so that they find out that they are refused.
    pub(crate) fn drain(&self, last: C) -> Result<Drained<R>, C> {
        let mut lanes = self.lock();
        if lanes.closed.user() {
            return Err(last);
        }
        lanes.closed.close(Closed::TO_MESSAGES);
        lanes.guarded = true;
        let waiting = lanes.user.bound().map_or_else(Vec::new, Bound::wakers);
        lanes.user.push_control(last);
        Ok((lanes.called(), waiting))
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
        let mut leftovers = lanes.take_all();
        let bound = leftovers.take_bound();
        self.senders_wait.store(false, Ordering::Relaxed);
        (leftovers, SendersToWake(bound))
    }

    /// Takes what waits in the user lane, for a cell that will handle none of it. The lane stays open.
    pub(crate) fn drain_user_lane(&self) -> Lane<M, C> {
        let mut lanes = self.lock();
        lanes.not_handled(self.in_hand.swap(0, Ordering::Relaxed));
        let mut all = lanes.take_all();
        lanes.user.give_bound(all.take_bound());
        all
    }

    /// Puts messages that were taken back in front of those that wait, whatever the capacity. The cell has handled its last message:
    /// only a successor takes the lane, as a whole, and it does not look at the marks. So the marks are not moved.
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
        lanes.user.put_back(messages);
        Ok(())
    }

    /// Closes the system lane. Returns the entries that waited there.
    pub(crate) fn close_system_lane(&self) -> SystemLane<S> {
        let mut lanes = self.lock();
        lanes.closed.close(Closed::SYSTEM);
        std::mem::replace(&mut lanes.system, SystemLane::Empty)
    }
}

/// The senders that waited for room in a mailbox that was closed.
#[must_use = "they wait until they are woken"]
pub(crate) struct SendersToWake(Option<Box<Bound>>);

impl SendersToWake {
    #[inline]
    pub(crate) fn wake(self) {
        let Some(bound) = self.0 else { return };
        for Waiting { waker, .. } in bound.waiting {
            waker.wake();
        }
    }
}
