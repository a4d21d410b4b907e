//! Stored messages on their way into an actor's lane.

use std::any::Any;
use std::sync::Arc;

use crate::actor::actor_ref::{ActorRef, WeakActorRef};
use crate::actor::definition::Actor;
use crate::actor::envelope::ReplySlot;
use crate::actor::reply::drop_because;
use crate::actor::request::AskError;
use crate::base::{contained, drop_contained};
use crate::durable::fields::Decoder;
use crate::durable::{AcceptError, Asker, Copied, Recipient, Ticket, Undelivered};
use crate::failure::Failure;
use crate::observe::{DeadLetterReason, Lost};

/// The copy in memory of a message that was handed over to the store.
pub(super) struct Copy<A: Actor> {
    pub(super) message: A::Message,
    pub(super) to: ActorRef<A>,
    /// The message was told: if it is not stored, only a dead letter says so.
    pub(super) is_told: bool,
}

impl<A: Actor> Copy<A> {
    /// The message of a copy that comes back.
    pub(super) fn message_of(copy: Box<dyn Copied>) -> Option<A::Message> {
        Some(copy.into_any().downcast::<Self>().ok()?.message)
    }
}

impl<A: Actor> Copied for Copy<A> {
    fn refuse(self: Box<Self>, why: &AcceptError) {
        let Self { message, to, is_told } = *self;
        let name = A::message_name(&message);
        let why = match why {
            AcceptError::Stopped => to.core().end_reason().into_ask_error(),
            why => AskError::NotAccepted(why.clone()),
        };
        let answered = drop_because(why, message);
        if is_told && !answered {
            to.core().lost(Lost::new(name, DeadLetterReason::NotAccepted, false));
        }
    }

    fn into_asker(self: Box<Self>) -> Option<Asker> {
        let Self { mut message, .. } = *self;
        let slot = A::slot(&mut message).and_then(ReplySlot::take);
        drop_contained(message);
        slot.map(|slot| Box::new(ReplySlot::from(Some(slot))) as Asker)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

/// How often a message is delivered again after a failure.
pub(in crate::actor) fn retries<A: Actor>(message: &A::Message) -> u32 {
    match if A::REDELIVERS { A::redelivery(message) } else { 0 } {
        0 => A::DURABLE.map_or(0, |mailbox| mailbox.redeliver),
        retries => retries,
    }
}

/// Delivers stored messages into an actor's lane.
pub(super) struct Way<A: Actor>(pub(super) WeakActorRef<A>);

impl<A: Actor> Recipient for Way<A> {
    fn deliver(
        &self,
        ticket: Arc<Ticket>,
        copy: Option<Box<dyn Any + Send>>,
        asker: Option<Asker>,
    ) -> Result<(), Undelivered> {
        let asker = asker.and_then(|asker| asker.downcast::<ReplySlot>().ok());
        let Some(to) = self.0.upgrade() else {
            drop_contained(copy);
            return Err(Undelivered::Gone);
        };
        let copy = copy.and_then(|copy| copy.downcast::<Copy<A>>().ok());
        let mut message = match copy {
            Some(copy) => copy.message,
            None => decoded::<A>(&ticket).map_err(Undelivered::Undecodable)?,
        };
        // A message that failed in a batch may be tried alone once more.
        let alone = u32::from(A::BATCHES && A::batching(&message).is_some());
        if ticket.attempts() > retries::<A>(&message).saturating_add(alone) {
            drop_contained(message);
            return Err(Undelivered::Spent);
        }
        if let (Some(asker), Some(slot)) = (asker, A::slot(&mut message)) {
            *slot = *asker;
        }
        attach::<A>(&mut message, ticket);
        match to.push_accepted(message) {
            Ok(()) => Ok(()),
            Err(message) => {
                // Dropping the message also drops its ticket, which gives the message back to its queue.
                drop_because(to.core().end_reason().into_ask_error(), message);
                Err(Undelivered::Gone)
            }
        }
    }

    fn refuse(&self, asker: Asker) {
        let why = self.0.upgrade().map_or(AskError::Stopped, |to| to.core().end_reason().into_ask_error());
        if let Some(slot) = asker.downcast::<ReplySlot>().ok().and_then(|mut slot| slot.take()) {
            slot.fail(why);
        }
    }

    fn message_name(&self, kind: &str) -> Option<&'static str> {
        A::stored_message(kind)
    }

    fn wake(&self) {
        if let Some(to) = self.0.upgrade() {
            to.wake();
        }
    }
}

/// Puts the ticket into the message's slot.
pub(crate) fn attach<A: Actor>(message: &mut A::Message, ticket: Arc<Ticket>) {
    if let Some(slot) = A::slot(message) {
        slot.put_ticket(ticket);
    }
}

/// The message of a ticket. The error says why it cannot be decoded.
pub(crate) fn decoded<A: Actor>(ticket: &Ticket) -> Result<A::Message, String> {
    let decoder = Decoder::new(&ticket.body).map_err(|error| error.to_string())?;
    match contained(|| A::decode(&ticket.kind, &decoder)) {
        Ok(Ok(Some(message))) => Ok(message),
        Ok(Ok(None)) => Err(format!("there is no handler `{}`", ticket.kind)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(payload) => Err(Failure::panic(payload).to_string()),
    }
}
