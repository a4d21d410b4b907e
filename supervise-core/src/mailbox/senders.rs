//! The room in a bounded mailbox, and the senders that wait for it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::task::{Context as TaskContext, Poll, Waker};

use super::{Lanes, Mailbox, Overflow, Pushed};
use crate::base::sync::MutexGuard;
use crate::base::sync::atomic::Ordering;

/// The capacity of a mailbox, and the senders that wait for room.
///
/// Free room is the capacity minus the waiting messages, the messages in the cell's hand, and the admitted senders that
/// have not pushed yet. It is computed each time and never stored.
pub(super) struct Bound {
    pub(super) capacity: usize,
    pub(super) overflow: Overflow,
    /// In the order of their tickets.
    pub(super) waiting: VecDeque<Waiting>,
    next_ticket: u64,
    /// How many senders were admitted and have not pushed yet.
    pub(super) let_in: usize,
}

pub(super) struct Waiting {
    ticket: u64,
    pub(super) waker: Waker,
    /// It has no place in the order: when it is woken, it tries again, and no room is reserved for it.
    pub(super) is_guest: bool,
}

impl Bound {
    pub(super) fn new(capacity: usize, overflow: Overflow) -> Self {
        Self { capacity, overflow, waiting: VecDeque::new(), next_ticket: 0, let_in: 0 }
    }
}

impl<M, C, S, R> Mailbox<M, C, S, R> {
    /// Whether there is room for one more message. The message that the cell has just begun to handle may still count.
    pub(super) fn has_room(&self, lanes: &Lanes<M, C, S, R>) -> bool {
        lanes.user.bound().is_none_or(|bound| {
            lanes.user.messages() + self.in_hand.load(Ordering::Relaxed) + bound.let_in < bound.capacity
        })
    }

    /// Whether there is room for one more message, and no other sender waits for it.
    pub(super) fn admits(&self, lanes: &Lanes<M, C, S, R>) -> bool {
        lanes.user.bound().map_or(!lanes.closed.user(), |bound| bound.waiting.is_empty() && self.has_room(lanes))
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
        let waits_already = lanes.user.bound_mut().and_then(|bound| bound.wait_as_guest(waker));
        self.senders_wait.store(true, Ordering::Relaxed);
        drop(lanes);
        drop(waits_already);
        Pushed::Full(message)
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
        let bound = lanes.user.bound_mut()?;
        let first = bound.waiting.pop_front()?;
        bound.let_in += usize::from(!first.is_guest);
        self.senders_wait.store(!bound.waiting.is_empty(), Ordering::Relaxed);
        Some(first.waker)
    }

    /// Removes a sender that has a ticket and will not push. Returns its waker, if it waits.
    fn leave(&self, lanes: &mut Lanes<M, C, S, R>, ticket: u64) -> Option<Waiting> {
        let bound = lanes.user.bound_mut()?;
        let left = if bound.take_admission(ticket) { None } else { bound.take_out(ticket) };
        self.senders_wait.store(!bound.waiting.is_empty(), Ordering::Relaxed);
        left
    }
}

/// A sender's place among the senders that wait for room.
pub(crate) struct SendWaiter<'a, M, C, S, R> {
    pub(super) mailbox: &'a Mailbox<M, C, S, R>,
    /// Set when the sender first had to wait.
    pub(super) ticket: Option<u64>,
    /// Stands right before the message.
    #[cfg(feature = "spans")]
    pub(crate) before: Option<C>,
}

impl<M, C, S, R> SendWaiter<'_, M, C, S, R> {
    /// Waits for room, in order. Returns the runner if it waited for the message, or the message if the mailbox closes.
    #[cfg(all(test, supervise_loom))]
    pub(crate) fn poll(
        &mut self,
        message: &mut Option<Cell<M>>,
        cx: &TaskContext<'_>,
    ) -> Poll<Result<Option<R>, M>> {
        self.poll_unless(|| false, message, cx)
    }

    /// Waits for room, in order. Returns the runner if it waited for the message, or the message if the mailbox closes. If the cell
    /// makes no room before the sender goes on (`in_vain`), the message may exceed the bound, or is given back.
    ///
    /// The message is in a `Cell` for the same reason as in its lane.
    #[inline]
    pub(crate) fn poll_unless(
        &mut self,
        in_vain: impl FnOnce() -> bool,
        message: &mut Option<Cell<M>>,
        cx: &TaskContext<'_>,
    ) -> Poll<Result<Option<R>, M>> {
        // The waker is cloned and dropped outside the lock.
        let mut waker = self.ticket.map(|_| cx.waker().clone());
        loop {
            let mut lanes = self.mailbox.lock();
            let is_refused = lanes.closed.to_messages();
            if is_refused || self.is_admitted(&mut lanes) {
                let Some(message) = message.take() else {
                    unreachable!("a send was polled after it had completed")
                };
                let message = message.into_inner();
                if is_refused {
                    self.give_up(lanes);
                    return Poll::Ready(Err(message));
                }
                self.ticket = None;
                #[cfg(feature = "spans")]
                if !self.mailbox.displaces {
                    self.before.take().into_iter().for_each(|before| lanes.user.push_control(before));
                }
                return Poll::Ready(Ok(lanes.enqueue(message)));
            }
            let Some(waker) = waker.take() else {
                drop(lanes);
                waker = Some(cx.waker().clone());
                continue;
            };
            let old = lanes.user.bound_mut().and_then(|bound| bound.wait(&mut self.ticket, waker));
            self.mailbox.senders_wait.store(true, Ordering::Relaxed);
            drop(lanes);
            drop(old);
            if in_vain()
                && let (Some(ticket), Some(message)) = (self.ticket.take(), message.take())
            {
                return Poll::Ready(self.push_beyond(ticket, message.into_inner()));
            }
            return Poll::Pending;
        }
    }

    /// The sender, which has a ticket, does not wait any longer: leaves its message beyond the bound, unless twice as many wait already.
    #[cold]
    #[inline(never)]
    fn push_beyond(&mut self, ticket: u64, message: M) -> Result<Option<R>, M> {
        let mailbox = self.mailbox;
        let mut lanes = mailbox.lock();
        let left = mailbox.leave(&mut lanes, ticket);
        let waiting = lanes.user.messages() + mailbox.in_hand.load(Ordering::Relaxed);
        let most = |bound: &Bound| bound.capacity.saturating_mul(2).saturating_sub(bound.let_in);
        let is_full = lanes.user.bound().is_some_and(|bound| waiting >= most(bound));
        let pushed = if is_full || lanes.closed.to_messages() {
            Err(message)
        } else {
            #[cfg(feature = "spans")]
            if !mailbox.displaces {
                self.before.take().into_iter().for_each(|before| lanes.user.push_control(before));
            }
            Ok(lanes.enqueue(message))
        };
        drop(lanes);
        drop(left);
        pushed
    }

    /// Leaves the queue without having sent.
    #[cold]
    fn give_up(&mut self, mut lanes: MutexGuard<'_, Lanes<M, C, S, R>>) {
        let left = self.ticket.take().and_then(|ticket| self.mailbox.leave(&mut lanes, ticket));
        drop(lanes);
        drop(left);
    }

    /// Whether the sender may push its message now. Uses up its admission if it was admitted.
    fn is_admitted(&mut self, lanes: &mut Lanes<M, C, S, R>) -> bool {
        let Some(bound) = lanes.user.bound_mut() else { return true };
        let first = match self.ticket {
            None => bound.waiting.is_empty(),
            Some(ticket) => bound.take_admission(ticket),
        };
        first && self.mailbox.has_room(lanes)
    }
}

/// A sender that stops waiting admits the next one.
impl<M, C, S, R> Drop for SendWaiter<'_, M, C, S, R> {
    #[inline]
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.give_up(self.mailbox.lock());
            self.mailbox.let_senders_in();
        }
    }
}

impl Bound {
    fn position(&self, ticket: u64) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&ticket, |waiting| waiting.ticket)
    }

    /// Takes the admission of a sender. Returns whether it was admitted.
    pub(super) fn take_admission(&mut self, ticket: u64) -> bool {
        let let_in = self.position(ticket).is_err();
        self.let_in -= usize::from(let_in);
        let_in
    }

    /// Those of all senders that wait.
    pub(super) fn wakers(&self) -> Vec<Waker> {
        self.waiting.iter().map(|waiting| waiting.waker.clone()).collect()
    }

    /// Removes a sender from the queue.
    pub(super) fn take_out(&mut self, ticket: u64) -> Option<Waiting> {
        self.waiting.remove(self.position(ticket).ok()?)
    }

    /// Puts a guest last. Gives its waker back if it waits already.
    pub(super) fn wait_as_guest(&mut self, waker: Waker) -> Option<Waker> {
        if self.waiting.iter().any(|other| other.is_guest && other.waker.will_wake(&waker)) {
            return Some(waker);
        }
        self.next_ticket += 1;
        self.waiting.push_back(Waiting { ticket: self.next_ticket, waker, is_guest: true });
        None
    }

    /// Stores a sender's waker at its place in the queue, or at the end if it has no place yet. Returns the earlier
    /// waker.
    fn wait(&mut self, ticket: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let ticket = *ticket.get_or_insert_with(|| {
            self.next_ticket += 1;
            self.next_ticket
        });
        match self.position(ticket) {
            Ok(at) => Some(std::mem::replace(&mut self.waiting[at].waker, waker)),
            Err(at) => {
                self.waiting.insert(at, Waiting { ticket, waker, is_guest: false });
                None
            }
        }
    }
}
