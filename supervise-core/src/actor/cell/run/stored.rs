//! Stored messages: beginning one, and trying one again.
//!
//! Rules 27.5, 27.6, 27.7 and 27.8.

use std::sync::Arc;

use super::{Next, Runner};
use crate::actor::cell::deliveries::Due;
use crate::actor::cell::effect_runner::EffectRunner;
use crate::actor::context::Context;
use crate::actor::definition::Actor;
use crate::actor::envelope::ReplySlot;
use crate::actor::reply::{ErasedSlot, drop_because};
use crate::actor::request::AskError;
use crate::actor::stored;
use crate::base::contained;
use crate::durable::Ticket;
use crate::failure::Failure;

/// Whether the delivery of a message may begin. If not, another process may have its queue, and dropping it gives it back.
#[cold]
pub(in crate::actor::cell) fn may_begin<A: Actor>(message: &mut A::Message) -> bool {
    A::slot(message).is_none_or(|slot| slot.may_begin())
}

/// Whether the message is a batch of its own.
#[cold]
pub(in crate::actor::cell) fn is_tried_alone<A: Actor>(message: &mut A::Message) -> bool {
    A::slot(message).is_some_and(|slot| slot.is_tried_alone())
}

/// Begins the delivery of a message, if it is stored.
#[cold]
pub(in crate::actor::cell) fn begin<A: Actor>(
    ctx: &mut Context<A>,
    effects: &mut EffectRunner<A>,
    message: &mut A::Message,
) {
    let may_retry = stored::retries::<A>(message);
    let ticket = A::slot(message).and_then(ReplySlot::take_ticket);
    ctx.set_delivery(ticket.as_ref().map(|ticket| ticket.begin()));
    if let Some(ticket) = ticket {
        effects.deliveries().begin(ticket, may_retry);
    }
}

impl<A: Actor> Runner<A> {
    /// Tries the stored message that comes before all others.
    #[cold]
    pub(super) fn try_again(&mut self) -> Option<Next> {
        let deliveries = self.effects.deliveries_so_far()?;
        let (ticket, asker) = match deliveries.due()? {
            Due::NotYet => return Some(Next::WaitForStore),
            Due::Now(ticket, asker) => (ticket, asker),
        };
        let Ok(message) = stored::decoded::<A>(&ticket) else {
            deliveries.spoilt();
            return Some(Next::Again);
        };
        Some(self.admit_again(message, ticket, asker))
    }

    /// Quarantines a stored message that does not fit into the stash. Returns the message if it is not a stored
    /// one.
    #[cold]
    pub(super) fn confine(&mut self, mut message: A::Message, failure: &Failure) -> Option<A::Message> {
        if A::DURABLE.is_none() {
            return Some(message);
        }
        let Some(ticket) = A::slot(&mut message).and_then(ReplySlot::take_ticket) else { return Some(message) };
        self.effects.deliveries().overflows(ticket, failure.clone());
        drop_because(AskError::Failed(failure.clone()), message);
        None
    }

    fn admit_again(
        &mut self,
        mut message: A::Message,
        ticket: Arc<Ticket>,
        asker: Option<Arc<dyn ErasedSlot>>,
    ) -> Next {
        if let (Some(asker), Some(slot)) = (asker, A::slot(&mut message)) {
            *slot = ReplySlot::of(asker);
        }
        stored::attach::<A>(&mut message, ticket);
        // A condition that panics will panic again in `admit`, where the panic is a failure.
        let is_unwanted = self.instance.as_ref().map(|instance| contained(|| instance.stash_while(&message)));
        match (is_unwanted, if A::BATCHES { A::batching(&message) } else { None }) {
            (Some(Ok(false)), None) => self.handle(message),
            // Alone: perhaps it was another one of its batch that failed.
            (Some(Ok(false)), Some(how)) => {
                #[cfg(feature = "spans")]
                self.effects.gather_origin();
                self.effects.gather(message, how);
                Next::Call(self.begin_batch())
            }
            _ => self.admit(message),
        }
    }
}
