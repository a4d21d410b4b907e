//! The side of the cell: it takes messages from the lanes, and parks its runner.

use super::{Chunk, Entry, Lanes, Mailbox};
use crate::base::sync::MutexGuard;
use crate::base::sync::atomic::Ordering;

impl<M, C, S, R> Mailbox<M, C, S, R> {
    /// Whether the system lane holds a message: one atomic load.
    #[inline]
    pub(crate) fn system_waits(&self) -> bool {
        self.system_waits.load(Ordering::Acquire)
    }

    /// Takes the first message of the system lane. Sets `looked` if the user lane is empty, so that the cell need not look.
    #[inline(never)]
    pub(crate) fn take_system(&self, looked: &mut bool) -> Option<S> {
        let mut lanes = self.lock();
        let message = lanes.system.pop();
        self.system_waits.store(!lanes.system.is_empty(), Ordering::Release);
        *looked |= lanes.user.is_empty();
        message
    }

    /// [`take_user_beside`](Self::take_user_beside) for a cell that has kept no messages.
    #[cfg(test)]
    pub(crate) fn take_user(&self, batch: &mut Chunk<M, C>) -> bool {
        self.take_user_beside(0, batch)
    }

    /// Moves what the cell may handle next into `batch`, which is empty: the first chunk of the lane, or one entry if messages may
    /// be displaced. Returns whether the lane is now empty. The cell has `kept` messages that it does not begin to handle.
    pub(crate) fn take_user_beside(&self, kept: usize, batch: &mut Chunk<M, C>) -> bool {
        let mut lanes = self.lock();
        let takes_all = lanes.user.is_plain() || (!self.displaces && lanes.user.has_one_chunk());
        if !takes_all || batch.has_much_room() {
            return self.take_chunk_beside(lanes, kept, batch);
        }
        lanes.user.swap(batch);
        // Under the lock, so that moving a message into the batch does not look like room.
        self.in_hand.store(batch.messages() + kept, Ordering::Relaxed);
        true
    }

    // A separate function, so that most mailboxes do not pay for it.
    #[inline(never)]
    fn take_chunk_beside(
        &self,
        mut lanes: MutexGuard<'_, Lanes<M, C, S, R>>,
        kept: usize,
        batch: &mut Chunk<M, C>,
    ) -> bool {
        if self.displaces && lanes.user.bound().is_some() {
            match lanes.user.pop() {
                Some(Entry::Message(message)) => batch.push(message),
                Some(Entry::Control(control)) => batch.push_control(control),
                None => {}
            }
            // The cell takes only the message that it begins to handle.
            self.in_hand.store(kept, Ordering::Relaxed);
            return lanes.user.is_empty();
        }
        let emptied = if let Some(first) = lanes.user.take_full() {
            Some(std::mem::replace(batch, first))
        } else {
            // There was a burst of messages, or many were put back.
            let large = batch.has_much_room().then(|| std::mem::replace(batch, Chunk::new()));
            lanes.user.swap(batch);
            large
        };
        self.in_hand.store(batch.messages() + kept, Ordering::Relaxed);
        let is_empty = lanes.user.is_empty();
        drop(lanes);
        drop(emptied);
        is_empty
    }

    /// Takes the first message of a batch, if there is one. This makes room for another message.
    #[inline]
    pub(crate) fn begin_next(&self, batch: &mut Chunk<M, C>) -> M {
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

    /// Drops the controls for which `gone` says so. Their drop must run no user code.
    #[cold]
    pub(crate) fn forget_controls(&self, gone: impl Fn(&C) -> bool) {
        self.lock().user.forget_controls(gone);
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

    /// Takes the parked runner out if it waits for both lanes, which are empty then.
    pub(crate) fn take_idle(&self) -> Option<R> {
        let mut lanes = self.lock();
        if lanes.for_user { lanes.runner.take() } else { None }
    }
}
