//! A stored message's ticket, in the place of its asker's slot.

use std::sync::{Arc, Mutex, PoisonError};

use crate::actor::envelope::ReplySlot;
use crate::actor::reply::{Dropped, ErasedSlot};
use crate::actor::request::AskError;
use crate::actor::waits_for::Tie;
use crate::durable::Ticket;

/// The ticket of a stored message, and the slot of its asker.
pub(crate) struct Ticketed {
    parts: Mutex<Parts>,
    tie: Tie,
}

type Parts = (Option<Arc<Ticket>>, Option<Arc<dyn ErasedSlot>>);

impl Ticketed {
    pub(in crate::actor) fn new(ticket: Arc<Ticket>, asker: Option<Arc<dyn ErasedSlot>>) -> Self {
        Self { parts: Mutex::new((Some(ticket), asker)), tie: Tie::default() }
    }

    /// Takes both out.
    pub(in crate::actor) fn take(&self) -> Parts {
        std::mem::take(&mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn asker(&self) -> Option<Arc<dyn ErasedSlot>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// Whether no other process can have the queue of the message.
    pub(in crate::actor) fn may_begin(&self) -> bool {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.0.as_ref().is_none_or(|ticket| ticket.may_begin())
    }

    /// Whether the message is a batch of its own.
    pub(in crate::actor) fn is_tried_alone(&self) -> bool {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.0.as_ref().is_some_and(|ticket| ticket.is_tried_alone())
    }

    pub(in crate::actor) fn is_asked(&self) -> bool {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).1.is_some()
    }

    /// Whether the message was asked and its asker no longer waits.
    pub(in crate::actor) fn is_abandoned(&self) -> bool {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.1.as_ref().is_some_and(crate::actor::reply::is_abandoned)
    }
}

impl Drop for Ticketed {
    fn drop(&mut self) {
        let (ticket, asker) = self.take();
        drop(ReplySlot::from(asker));
        drop(ticket);
    }
}

/// A ticket is taken out before its message is opened, so most of these methods are never called.
impl ErasedSlot for Ticketed {
    fn fail(&self, error: AskError) {
        if let (_, Some(asker)) = self.take() {
            asker.fail(error);
        }
    }

    fn give_up(&self, dropped: Dropped) {
        if let (_, Some(asker)) = self.take() {
            asker.give_up(dropped);
        }
    }

    fn tie(&self) -> &Tie {
        &self.tie
    }

    fn waits_for_retry(&self, is_lent: bool) -> bool {
        self.asker().is_some_and(|asker| asker.waits_for_retry(is_lent))
    }

    fn expected(&self) -> &'static str {
        self.asker().map_or("", |asker| asker.expected())
    }

    fn ticketed(&self) -> Option<&Ticketed> {
        Some(self)
    }
}
