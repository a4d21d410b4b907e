//! The reply slots of messages that are handled in one call.

use std::sync::Arc;

use super::verdict::Dropped;
use super::{ErasedSlot, Tie, answer};
use crate::actor::request::AskError;

/// The slots of a batch as one. A failure of this slot fails all of them.
///
/// Rule 23.2.
pub(crate) struct BatchSlot {
    /// One for each message. `None`: it was told.
    slots: Vec<Option<Arc<dyn ErasedSlot>>>,
    tie: Tie,
}

impl BatchSlot {
    pub(crate) fn new(slots: Vec<Option<Arc<dyn ErasedSlot>>>) -> Self {
        Self { slots, tie: Tie::default() }
    }

    fn asked(&self) -> impl Iterator<Item = &Arc<dyn ErasedSlot>> {
        self.slots.iter().flatten()
    }

    /// Gives each asker its reply.
    pub(crate) fn answer<T: Send + 'static>(&self, mut replies: impl Iterator<Item = T>) {
        for slot in &self.slots {
            let Some(reply) = replies.next() else { break };
            match slot {
                Some(slot) => answer(Arc::clone(slot), reply),
                None => crate::base::drop_contained(reply),
            }
        }
    }
}

impl ErasedSlot for BatchSlot {
    fn fail(&self, error: AskError) {
        for slot in self.asked() {
            slot.fail(error.clone());
        }
    }

    fn give_up(&self, dropped: Dropped) {
        for slot in self.asked() {
            slot.give_up(dropped.clone());
        }
    }

    fn tie(&self) -> &Tie {
        &self.tie
    }

    fn waits_for_retry(&self, _: bool) -> bool {
        false
    }

    fn expected(&self) -> &'static str {
        "replies of a batch"
    }
}
