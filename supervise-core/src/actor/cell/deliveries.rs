//! The stored messages that an actor has begun, and those that it tries again.
//!
//! ```text
//!   begin ─► under way ── handled ─► acknowledged
//!                │ failed, dropped: charged           resumed ─► quarantine
//!                ▼                                       │
//!             failed ────────────────────────────────────┤
//!                │ restarted            tried as often as it may ─► quarantine
//!                ▼                                       │ ended before that ─► back into its queue
//!               due, when all charges are durable ─► begin
//! ```
//!
//! Rules 27.5, 27.7 and 27.8.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::actor::reply::ErasedSlot;
use crate::actor::request::AskError;
use crate::durable::{Fate, Ticket};
use crate::failure::Failure;

/// A message whose delivery has begun.
struct Tried {
    ticket: Arc<Ticket>,
    /// How often it may be delivered again.
    may_retry: u32,
    /// An asker who waits for the next delivery (rule 19.5).
    asker: Option<Arc<dyn ErasedSlot>>,
    /// The last failure of this process.
    failure: Option<Failure>,
}

impl Tried {
    fn is_spent(&self) -> bool {
        self.ticket.attempts() > self.may_retry
    }

    fn quarantine(self) {
        self.ticket.quarantine(Fate::Failed);
        self.tell_asker();
    }

    /// An asker who waited for another delivery gets the reason.
    fn tell_asker(self) {
        if let Some(asker) = self.asker {
            asker.fail(self.failure.map_or(AskError::Stopped, AskError::Failed));
        }
    }
}

/// The stored messages that an actor has begun.
#[derive(Default)]
pub(super) struct Deliveries {
    /// The messages with the handler, or those that have failed: one message, or a batch.
    current: Vec<Tried>,
    has_failed: bool,
    /// They have failed together. Each of them is tried alone before it is given up, because perhaps only one of them is bad.
    failed_together: bool,
    /// The messages that are delivered again before those that wait.
    due: VecDeque<Tried>,
    /// The message that is about to be delivered again.
    next: Option<Tried>,
    /// A message that went into quarantine. No other message begins before the quarantine is durable. Otherwise a
    /// crash would bring the message back behind later ones.
    settling: Option<Arc<Ticket>>,
}

/// The message that must be delivered next.
pub(super) enum Due {
    /// The store does not know all failures yet.
    NotYet,
    Now(Arc<Ticket>, Option<Arc<dyn ErasedSlot>>),
}

impl Deliveries {
    /// The handler of a stored message is about to start.
    pub(super) fn begin(&mut self, ticket: Arc<Ticket>, may_retry: u32) {
        self.has_failed = false;
        self.next = None;
        self.current.push(Tried { ticket, may_retry, asker: None, failure: None });
    }

    /// The handler has returned.
    pub(super) fn handled(&mut self) {
        for tried in self.current.drain(..) {
            tried.ticket.handled();
        }
    }

    /// Whether the message in progress is delivered again if it fails now and its actor is restarted.
    pub(super) fn may_retry(&self) -> bool {
        let [tried] = self.current.as_slice() else { return false };
        !self.has_failed && tried.ticket.attempts() < tried.may_retry
    }

    /// The asker of the message in progress waits for the next delivery.
    pub(super) fn keep(&mut self, asker: Arc<dyn ErasedSlot>) {
        if let Some(tried) = self.current.first_mut() {
            tried.asker = Some(asker);
        }
    }

    /// The handler has failed, or was dropped at an await point.
    pub(super) fn failed(&mut self, failure: Option<&Failure>) {
        if self.has_failed {
            return;
        }
        self.has_failed = true;
        self.failed_together = self.current.len() > 1;
        for tried in &mut self.current {
            let failure =
                failure.cloned().unwrap_or_else(|| Failure::other("its handler was dropped at the stop timeout"));
            tried.failure = Some(failure.clone());
            tried.ticket.charge(failure);
        }
    }

    /// The message that failed last, unless the supervisor has decided its failure.
    pub(super) fn last_failed(&self) -> Option<&Ticket> {
        self.current.first().map(|tried| &*tried.ticket)
    }

    /// The actor was resumed.
    pub(super) fn resumed(&mut self) {
        if self.has_failed && self.failed_together {
            self.try_alone();
        } else if self.has_failed
            && let Some(tried) = self.current.pop()
        {
            self.settling = Some(Arc::clone(&tried.ticket));
            tried.quarantine();
        }
    }

    /// A message does not fit into the stash.
    pub(super) fn overflows(&mut self, ticket: Arc<Ticket>, failure: Failure) {
        self.next = None;
        ticket.charge(failure);
        ticket.quarantine(Fate::Failed);
        self.settling = Some(ticket);
    }

    /// Those that have failed together come next, one by one.
    fn try_alone(&mut self) {
        self.failed_together = false;
        for tried in self.current.drain(..).rev() {
            self.due.push_front(tried);
        }
    }

    /// The actor has a new instance.
    pub(super) fn restarted(&mut self) {
        if self.has_failed && self.failed_together {
            self.try_alone();
        }
        while let Some(tried) = self.current.pop() {
            if tried.is_spent() {
                self.settling = Some(Arc::clone(&tried.ticket));
                tried.quarantine();
            } else {
                self.due.push_front(tried);
            }
        }
    }

    /// The message that must be delivered before those that wait, if there is one.
    pub(super) fn due(&mut self) -> Option<Due> {
        if self.settling.take_if(|ticket| ticket.is_settled()).is_none() && self.settling.is_some() {
            return Some(Due::NotYet);
        }
        // If another process may have the queue, it is tried there.
        while self.due.front().is_some_and(|tried| !tried.ticket.may_begin()) {
            self.due.pop_front().into_iter().for_each(Tried::tell_asker);
        }
        // If a batch has failed, the failure of each of its messages must be stored before the first of them is
        // tried again.
        if !self.due.front()?.ticket.is_settled() {
            return Some(Due::NotYet);
        }
        let mut tried = self.due.pop_front()?;
        let due = Due::Now(Arc::clone(&tried.ticket), tried.asker.take());
        self.next = Some(tried);
        Some(due)
    }

    /// The message that is due cannot be decoded.
    pub(super) fn spoilt(&mut self) {
        if let Some(tried) = self.next.take() {
            tried.ticket.quarantine(Fate::Undecodable);
            tried.tell_asker();
        }
    }

    /// The actor has ended. Messages whose attempts are used up go into quarantine, and the others go back into
    /// their queue. Messages that failed together go back too, because each of them must still be tried alone.
    pub(super) fn close(&mut self) {
        let have_failed_together = self.has_failed && self.failed_together;
        for tried in self.current.drain(..) {
            if tried.is_spent() && !have_failed_together { tried.quarantine() } else { tried.tell_asker() }
        }
        self.due.drain(..).for_each(Tried::tell_asker);
    }
}
