//! Messages that are set aside and handled later: the stash, and messages that will be delivered again.

use std::collections::VecDeque;

use super::EffectRunner;
use super::gathered::Gathered;
#[cfg(feature = "durable")]
use crate::actor::cell::deliveries::Deliveries;
use crate::actor::cell::redelivery::{Retries, Retry};
use crate::actor::definition::Actor;
use crate::actor::request::AskError;
use crate::observe::{DeadLetterReason, GivenUp, Lost};

/// Messages that are set aside and handled later.
pub(in crate::actor::cell) struct SetAside<M> {
    pub(super) stash: VecDeque<M>,
    /// Messages from the stash that must be checked again, before those that wait.
    pub(super) unstashed: VecDeque<M>,
    pub(in crate::actor::cell) retries: Retries<M>,
    /// Of an actor with a durable mailbox.
    #[cfg(feature = "durable")]
    pub(in crate::actor::cell) deliveries: Option<Box<Deliveries>>,
    /// Of an actor that [batches](Actor::BATCHES).
    pub(super) gathered: Option<Box<Gathered<M>>>,
}

impl<A: Actor> EffectRunner<A> {
    /// The messages that are set aside.
    pub(in crate::actor::cell) fn aside(&mut self) -> &mut SetAside<A::Message> {
        self.aside.get_or_insert_with(|| {
            Box::new(SetAside {
                stash: VecDeque::new(),
                unstashed: VecDeque::new(),
                retries: Retries::new(),
                #[cfg(feature = "durable")]
                deliveries: None,
                gathered: None,
            })
        })
    }

    /// The stored messages that were begun, if there are any.
    #[cfg(feature = "durable")]
    #[inline]
    pub(in crate::actor::cell) fn deliveries_so_far(&mut self) -> Option<&mut Deliveries> {
        if const { A::DURABLE.is_none() } {
            return None;
        }
        self.aside.as_mut()?.deliveries.as_deref_mut()
    }

    /// The stored messages that were begun.
    #[cfg(feature = "durable")]
    pub(in crate::actor::cell) fn deliveries(&mut self) -> &mut Deliveries {
        self.aside().deliveries.get_or_insert_default()
    }

    /// Stashes a message. Returns it if the stash is full.
    ///
    /// Rule 15.3.
    pub(in crate::actor::cell) fn stash(&mut self, message: A::Message) -> Result<(), A::Message> {
        let stash = &mut self.aside().stash;
        if stash.len() >= A::STASH_CAPACITY {
            return Err(message);
        }
        stash.push_back(message);
        let stashed = stash.len();
        self.cell.core.note_stashed(stashed);
        Ok(())
    }

    /// Puts the stashed messages before those that wait, in their order.
    #[inline]
    pub(in crate::actor::cell) fn unstash_all(&mut self) {
        if let Some(aside) = &mut self.aside
            && !aside.stash.is_empty()
        {
            self.cell.core.note_stashed(0);
            while let Some(message) = aside.stash.pop_back() {
                aside.unstashed.push_front(message);
            }
        }
    }

    pub(in crate::actor::cell) fn quarantine(&self, mut retry: Retry<A::Message>, given_up: GivenUp) {
        retry.give_up();
        let Retry { message, left, history, deliveries, .. } = retry;
        let permitted = deliveries.saturating_add(left);
        let name = A::message_name(&message);
        // The copy has no asker.
        let (_, kept) = self.cell.core.keep_lost(AskError::Unanswered, message);
        let reason = DeadLetterReason::Quarantined;
        let lost = Lost::new(name, reason, false);
        self.cell.core.lost(Lost { failures: history, deliveries, permitted, given_up, kept, ..lost });
    }
}
