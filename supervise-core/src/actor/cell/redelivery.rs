//! Messages that failed and may be tried again after the restart, and then are quarantined as dead letters.
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
//! Rule 4.8.

use std::collections::VecDeque;

use crate::base::{Payload, contained, drop_contained};
use crate::failure::Failure;

/// A copy of a message that may be tried again.
pub(super) struct Retry<M> {
    pub(super) message: M,
    /// How often it may be delivered again.
    left: u32,
    /// How often it was delivered.
    pub(super) deliveries: u32,
    /// What its deliveries failed with: the first, and the last ones.
    pub(super) history: Vec<Failure>,
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
}

/// What a message that was delivered waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// The end of its handler.
    UnderWay,
    /// Its actor failed and nobody has decided yet.
    Failed,
}

/// The messages of one actor that may be tried again.
pub(super) struct Retries<M> {
    /// The last one delivered.
    current: Option<(Retry<M>, Delivery)>,
    /// Those that come before what waits in the mailbox.
    due: VecDeque<Retry<M>>,
}

impl<M> Retries<M> {
    pub(super) fn new() -> Self {
        Self { current: None, due: VecDeque::new() }
    }

    /// A message is about to be handled for the first time; `copy` is kept.
    pub(super) fn begin(&mut self, copy: M, may_retry: u32) {
        let retry = Retry { message: copy, left: may_retry, deliveries: 1, history: Vec::new() };
        self.current = Some((retry, Delivery::UnderWay));
    }

    /// The message that is due first.
    pub(super) fn due(&self) -> Option<&M> {
        self.due.front().map(|retry| &retry.message)
    }

    /// Takes the message that is due first, to be handled; a copy made by `duplicate` is kept. The error is a panic.
    pub(super) fn begin_next(&mut self, duplicate: impl FnOnce(&M) -> Option<M>) -> Option<Result<M, Payload>> {
        let mut retry = self.due.pop_front()?;
        Some(match contained(|| duplicate(&retry.message)) {
            Ok(Some(copy)) => {
                let message = std::mem::replace(&mut retry.message, copy);
                retry.deliveries = retry.deliveries.saturating_add(1);
                self.current = Some((retry, Delivery::UnderWay));
                Ok(message)
            }
            Ok(None) => Ok(retry.message),
            Err(payload) => {
                drop_contained(retry.message);
                Err(payload)
            }
        })
    }

    /// The message under way failed, or its handler was dropped at an await point.
    pub(super) fn failed(&mut self, failure: Option<&Failure>) {
        if let Some((retry, stage @ Delivery::UnderWay)) = &mut self.current {
            *stage = Delivery::Failed;
            if let Some(failure) = failure {
                retry.failed(failure);
            }
        }
    }

    /// The message that failed last, unless that was decided about.
    pub(super) fn last_failed(&self) -> Option<&M> {
        self.current.as_ref().map(|(retry, _)| &retry.message)
    }

    /// The last message was handled, or its failure was forgiven.
    pub(super) fn forget(&mut self) {
        if let Some((retry, _)) = self.current.take() {
            drop_contained(retry.message);
        }
    }

    /// The actor was restarted: the failed message is due. Given back if it may not be delivered again, or so many are due,
    /// which the actor would set aside, that there is no `room` for another.
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

    /// Gives up all that are left, in order.
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
