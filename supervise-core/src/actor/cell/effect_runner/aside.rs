//! Messages that do not take their turn: the stash, and those that are tried again.

use std::collections::VecDeque;

use super::EffectRunner;
use crate::actor::cell::redelivery::{Retries, Retry};
use crate::actor::definition::Actor;
use crate::base::drop_contained;
use crate::observe::{DeadLetterReason, Lost};

/// Messages that do not take their turn.
pub(in crate::actor::cell) struct Aside<M> {
    pub(super) stash: VecDeque<M>,
    /// What was in the stash and is to be asked about again, before what waits.
    pub(super) unstashed: VecDeque<M>,
    pub(in crate::actor::cell) retries: Retries<M>,
}

impl<A: Actor> EffectRunner<A> {
    /// Where messages wait that do not take their turn.
    pub(in crate::actor::cell) fn aside(&mut self) -> &mut Aside<A::Message> {
        self.aside.get_or_insert_with(|| {
            Box::new(Aside { stash: VecDeque::new(), unstashed: VecDeque::new(), retries: Retries::new() })
        })
    }

    /// Sets a message aside. Gives it back if the stash is full.
    ///
    /// Rule 15.3.
    pub(in crate::actor::cell) fn stash(&mut self, message: A::Message) -> Result<(), A::Message> {
        let stash = &mut self.aside().stash;
        if stash.len() >= A::STASH_CAPACITY {
            return Err(message);
        }
        stash.push_back(message);
        Ok(())
    }

    /// Puts what was set aside before what waits, in its order.
    #[inline]
    pub(in crate::actor::cell) fn unstash_all(&mut self) {
        if let Some(aside) = &mut self.aside {
            while let Some(message) = aside.stash.pop_back() {
                aside.unstashed.push_front(message);
            }
        }
    }

    pub(in crate::actor::cell) fn quarantine(&self, retry: Retry<A::Message>) {
        let Retry { message, history, deliveries, .. } = retry;
        let name = A::message_name(&message);
        drop_contained(message);
        let reason = DeadLetterReason::Quarantined;
        self.cell.core.lost(Lost { message: name, reason, failures: history, deliveries, answered: false });
    }
}
