//! The side of the senders: messages, controls and system messages are pushed into their lanes.

use std::collections::VecDeque;

use super::{Lanes, Mailbox, Overflow};
use crate::base::sync::MutexGuard;
use crate::base::sync::atomic::Ordering;

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
        match lanes.user.bound().map(|bound| bound.overflow) {
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

    /// From now on every push takes the slow path, so that asks need no check of their own.
    pub(crate) fn guard(&self) {
        self.lock().guarded = true;
    }

    /// Leaves a message that was accepted before, whatever the capacity. Gives it back if the lane is closed.
    pub(crate) fn push_accepted(&self, message: M) -> Result<Option<R>, M> {
        let mut lanes = self.lock();
        if lanes.closed.user() { Err(message) } else { Ok(lanes.enqueue(message)) }
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

    /// Takes back the system message that waits last, if `undone` returns `true` for it and the one before it.
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

    /// Lets `tidy` take what is superseded out of the system lane, if many messages wait there and the lane is about to grow. Returns
    /// what `tidy` returns. The lane then has room for as many messages as are left, so that it is not tidied again soon.
    pub(crate) fn tidy_system<T>(&self, tidy: impl FnOnce(&mut VecDeque<S>) -> T) -> Option<T> {
        if !self.system_waits() {
            return None;
        }
        let mut lanes = self.lock();
        let crowded = lanes.system.crowded()?;
        let taken = tidy(crowded);
        crowded.reserve(crowded.len());
        self.system_waits.store(!lanes.system.is_empty(), Ordering::Release);
        Some(taken)
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

    // Not in debug builds, where each copy costs time to compile.
    #[cfg_attr(
        not(debug_assertions),
        expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it"),
        inline(always)
    )]
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
        self.lanes.time_last();
        if !self.lanes.for_user {
            return Pushed::Taken(None);
        }
        Pushed::Taken(self.lanes.called())
    }
}
