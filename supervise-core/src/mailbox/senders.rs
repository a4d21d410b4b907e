//! Senders that wait for room in a bounded mailbox.

use std::cell::Cell;
use std::collections::VecDeque;
use std::task::{Context as TaskContext, Poll, Waker};

use super::{Lanes, Mailbox, Overflow};
use crate::base::sync::atomic::Ordering;

/// How many messages may wait, and those who wait to send more.
///
/// Free room is the capacity less the messages that wait, those in the cell's hand, and the senders that were let in and have not
/// come yet. It is computed at each look and never stored.
pub(super) struct Bound {
    pub(super) capacity: usize,
    pub(super) overflow: Overflow,
    /// In the order of their tickets.
    pub(super) waiting: VecDeque<Waiting>,
    next_ticket: u64,
    /// How many were let in and have not come yet.
    pub(super) let_in: usize,
}

pub(super) struct Waiting {
    ticket: u64,
    pub(super) waker: Waker,
}

impl Bound {
    pub(super) fn new(capacity: usize, overflow: Overflow) -> Self {
        Self { capacity: capacity.max(1), overflow, waiting: VecDeque::new(), next_ticket: 0, let_in: 0 }
    }
}

/// A sender's place among those who wait for room.
pub(crate) struct SendWaiter<'a, M, C, S, R> {
    pub(super) mailbox: &'a Mailbox<M, C, S, R>,
    /// Once it had to wait.
    pub(super) ticket: Option<u64>,
}

impl<M, C, S, R> SendWaiter<'_, M, C, S, R> {
    /// Waits, in order, for room. Gives the runner, if it waited for this; or the message back when the mailbox closes.
    ///
    /// The message stands in a `Cell` for the reason that it does so in its lane.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        message: &mut Option<Cell<M>>,
        cx: &TaskContext<'_>,
    ) -> Poll<Result<Option<R>, M>> {
        // Made and dropped outside the lock.
        let mut waker = self.ticket.map(|_| cx.waker().clone());
        loop {
            let mut lanes = self.mailbox.lock();
            let admitted = self.is_admitted(&mut lanes);
            if admitted || lanes.closed {
                self.ticket = None;
                let Some(message) = message.take() else {
                    unreachable!("a send was polled after it had completed")
                };
                let message = message.into_inner();
                return Poll::Ready(if lanes.closed { Err(message) } else { Ok(lanes.enqueue(message)) });
            }
            let Some(waker) = waker.take() else {
                drop(lanes);
                waker = Some(cx.waker().clone());
                continue;
            };
            let old = lanes.bound.as_mut().and_then(|bound| bound.wait(&mut self.ticket, waker));
            self.mailbox.senders_wait.store(true, Ordering::Relaxed);
            drop(lanes);
            drop(old);
            return Poll::Pending;
        }
    }

    /// Whether it may leave its message now. If it was let in, that is used up.
    fn is_admitted(&mut self, lanes: &mut Lanes<M, C, S, R>) -> bool {
        let Some(bound) = &mut lanes.bound else { return true };
        let first = match self.ticket {
            None => bound.waiting.is_empty(),
            Some(ticket) => bound.take_admission(ticket),
        };
        first && self.mailbox.has_room(lanes)
    }
}

/// A sender that stops waiting lets the next one in.
impl<M, C, S, R> Drop for SendWaiter<'_, M, C, S, R> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut lanes = self.mailbox.lock();
        let Some(bound) = &mut lanes.bound else { return };
        let left = if bound.take_admission(ticket) { None } else { bound.take_out(ticket) };
        self.mailbox.senders_wait.store(!bound.waiting.is_empty(), Ordering::Relaxed);
        drop(lanes);
        drop(left);
        self.mailbox.let_senders_in();
    }
}

impl Bound {
    fn position(&self, ticket: u64) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&ticket, |waiting| waiting.ticket)
    }

    /// Whether a sender was let in. Then it is on its way no more.
    fn take_admission(&mut self, ticket: u64) -> bool {
        let let_in = self.position(ticket).is_err();
        self.let_in -= usize::from(let_in);
        let_in
    }

    /// Takes a sender out of the queue.
    fn take_out(&mut self, ticket: u64) -> Option<Waiting> {
        self.waiting.remove(self.position(ticket).ok()?)
    }

    /// Puts a sender in its place, which is the last if it has none. Gives the waker it had there.
    fn wait(&mut self, ticket: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let ticket = *ticket.get_or_insert_with(|| {
            self.next_ticket += 1;
            self.next_ticket
        });
        match self.position(ticket) {
            Ok(at) => Some(std::mem::replace(&mut self.waiting[at].waker, waker)),
            Err(at) => {
                self.waiting.insert(at, Waiting { ticket, waker });
                None
            }
        }
    }
}
