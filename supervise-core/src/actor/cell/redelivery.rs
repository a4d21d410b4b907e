//! Messages that failed and may be delivered again after the restart. In the end they become dead letters (quarantine).
//!
//! ```text
//!   begin ─► under way ──────── handled ──────────────► forgotten
//!                │ failed, aborted          resumed ──► forgotten, as every failing message is
//!                ▼                             │
//!             failed ──────────────────────────┤
//!                │ restarted                   │ tried as often as it may, or the actor ended
//!                ▼                             ▼
//!               due ──── begin_next ─►      quarantined
//! ```
//!
//! Rules 4.8 and 19.5.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::actor::reply::ErasedSlot;
use crate::actor::request::AskError;
use crate::base::{Payload, contained, drop_contained};
use crate::failure::Failure;

/// A copy of a message that may be delivered again.
pub(super) struct Retry<M> {
    pub(super) message: M,
    /// How often it may be delivered again.
    pub(super) left: u32,
    /// How many times it was delivered.
    pub(super) deliveries: u32,
    /// The failures of its deliveries: the first one and the last ones.
    pub(super) history: Vec<Failure>,
    /// An asker who waits for the next delivery (rule 19.5).
    asker: Option<Arc<dyn ErasedSlot>>,
}

/// How many failures of one message are kept, however often it may be delivered.
const KEPT_FAILURES: usize = 16;

impl<M> Retry<M> {
    fn failed(&mut self, failure: &Failure) {
        if self.history.len() == KEPT_FAILURES {
            self.history.remove(1);
        }
        self.history.push(failure.clone());
    }

    /// Gives up redelivery of this message. An asker who waited for it gets the reason.
    pub(super) fn give_up(&mut self) {
        if let Some(asker) = self.asker.take() {
            asker.fail(self.history.last().cloned().map_or(AskError::Stopped, AskError::Failed));
        }
    }
}

/// A message that is due, and its asker, if the asker waits for this delivery.
type Due<M> = (M, Option<Arc<dyn ErasedSlot>>);

/// The state of a message that was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// Its handler is running.
    UnderWay,
    /// Its actor failed, and the supervisor has not decided yet.
    Failed,
}

/// The messages of one actor that may be delivered again.
pub(super) struct Retries<M> {
    /// The last one delivered.
    current: Option<(Retry<M>, Delivery)>,
    /// The messages that are delivered before those in the mailbox.
    due: VecDeque<Retry<M>>,
}

impl<M> Retries<M> {
    pub(super) fn new() -> Self {
        Self { current: None, due: VecDeque::new() }
    }

    /// A message is about to be handled for the first time. Keeps `copy`.
    pub(super) fn begin(&mut self, copy: M, may_retry: u32) {
        let retry = Retry { message: copy, left: may_retry, deliveries: 1, history: Vec::new(), asker: None };
        self.current = Some((retry, Delivery::UnderWay));
    }

    /// The message that is due first.
    pub(super) fn due(&self) -> Option<&M> {
        self.due.front().map(|retry| &retry.message)
    }

    /// Takes the message that is due first, to be handled. Keeps a copy made by `duplicate`. The error is a panic.
    pub(super) fn begin_next(
        &mut self,
        duplicate: impl FnOnce(&M) -> Option<M>,
    ) -> Option<Result<Due<M>, Payload>> {
        let mut retry = self.due.pop_front()?;
        Some(match contained(|| duplicate(&retry.message)) {
            Ok(Some(copy)) => {
                let message = std::mem::replace(&mut retry.message, copy);
                retry.deliveries = retry.deliveries.saturating_add(1);
                let asker = retry.asker.take();
                self.current = Some((retry, Delivery::UnderWay));
                Ok((message, asker))
            }
            Ok(None) => Ok((retry.message, retry.asker)),
            Err(payload) => {
                retry.give_up();
                drop_contained(retry.message);
                Err(payload)
            }
        })
    }

    /// Whether the message in progress is delivered again if it fails now and its actor is restarted.
    pub(super) fn may_retry(&self) -> bool {
        matches!(&self.current, Some((Retry { left: 1.., .. }, Delivery::UnderWay)))
    }

    /// The asker of the message in progress waits for the next delivery.
    pub(super) fn keep(&mut self, asker: Arc<dyn ErasedSlot>) {
        if let Some((retry, _)) = &mut self.current {
            retry.asker = Some(asker);
        }
    }

    /// The message in progress failed, or its handler was dropped at an await point.
    pub(super) fn failed(&mut self, failure: Option<&Failure>) {
        if let Some((retry, stage @ Delivery::UnderWay)) = &mut self.current {
            *stage = Delivery::Failed;
            if let Some(failure) = failure {
                retry.failed(failure);
            }
        }
    }

    /// The message that failed last, unless the supervisor has decided its failure.
    pub(super) fn last_failed(&self) -> Option<&M> {
        self.current.as_ref().map(|(retry, _)| &retry.message)
    }

    /// The last message was handled, or the actor was resumed.
    pub(super) fn forget(&mut self) {
        if let Some((mut retry, _)) = self.current.take() {
            retry.give_up();
            drop_contained(retry.message);
        }
    }

    /// The actor was restarted, so the failed message is due. Returns it if it may not be delivered again, or if there
    /// is no `room` for another one because the actor stashes too many due messages.
    #[must_use = "a message that is given back goes to quarantine"]
    pub(super) fn restarted(&mut self, room: usize) -> Option<Retry<M>> {
        let (mut retry, _) = self.current.take()?;
        let Some(left) = retry.left.checked_sub(1).filter(|_| self.due.len() < room.max(1)) else {
            return Some(retry);
        };
        retry.left = left;
        self.due.push_front(retry);
        None
    }

    /// Returns all remaining messages, in order.
    pub(super) fn close(&mut self) -> impl Iterator<Item = Retry<M>> + use<M> {
        let current = self.current.take().map(|(retry, _)| retry);
        current.into_iter().chain(std::mem::take(&mut self.due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_due_as_the_stash_may_hold() {
        let mut retries = Retries::new();
        let mut fail = |message: u32| {
            retries.begin(message, 5);
            retries.failed(Some(&Failure::other("again")));
            retries.restarted(2).map(|spent| (spent.message, spent.deliveries))
        };
        assert_eq!([fail(1), fail(2), fail(3)], [None, None, Some((3, 1))]);
        assert_eq!(retries.due.len(), 2);
        // An actor without a stash still keeps the one message that is retried at once.
        let mut retries = Retries::new();
        retries.begin(1, 1);
        assert!(retries.restarted(0).is_none());
    }
}
