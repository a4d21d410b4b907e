//! Refusing messages before the lane is closed.
//!
//! Rule 23.4.

use std::task::Waker;

use super::senders::Waiting;
use super::{Closed, Lanes, Mailbox};
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
        let waiting = lanes
            .bound
            .as_ref()
            .map_or_else(Vec::new, |bound| bound.waiting.iter().map(|waiting| waiting.waker.clone()).collect());
        lanes.user.push_control(last);
        Ok((lanes.called(), waiting))
    }

    /// Leaves a message that was accepted before, whatever the capacity. Gives it back if the lane is closed.
    #[cfg(feature = "durable")]
    pub(crate) fn push_accepted(&self, message: M) -> Result<Option<R>, M> {
        let mut lanes = self.lock();
        if lanes.closed.user() { Err(message) } else { Ok(lanes.enqueue(message)) }
    }

    /// Removes a sender that has a ticket and will not push. Returns its waker, if it waits.
    pub(super) fn leave(&self, lanes: &mut Lanes<M, C, S, R>, ticket: u64) -> Option<Waiting> {
        let bound = lanes.bound.as_mut()?;
        let left = if bound.take_admission(ticket) { None } else { bound.take_out(ticket) };
        self.senders_wait.store(!bound.waiting.is_empty(), Ordering::Relaxed);
        left
    }
}
