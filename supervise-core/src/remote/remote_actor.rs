//! Actors that other nodes may reach.

use std::any::type_name;

use super::codec::{Arguments, Asked, Outgoing, RemoteHandler, Undecodable, Unsendable};
use super::holding::HeldMessage;
use super::link::Link;
use crate::actor::{Actor, ActorRef, AnyActorRef, AskError, SendError, SendErrorReason, Supervisor, drop_because};
use crate::base::contained;
use crate::observe::{DeadLetterReason, Lost};

/// An actor whose refs reach it from other nodes. `#[actor(remote)]` on the impl block implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a remote actor",
    label = "its refs do not leave this machine",
    note = "write `#[actor(remote)]` in place of `#[actor]` above the impl block of `{Self}`"
)]
pub trait RemoteActor: Actor {
    /// The name of the type on the wire.
    const NAME: &'static str;

    /// The handlers that other nodes may call.
    const CONTRACT: &'static [RemoteHandler];

    /// Writes a message: [`Outgoing::begin`], then its arguments.
    ///
    /// # Errors
    ///
    /// If the message cannot travel.
    fn encode(message: Self::Message, out: &mut Outgoing) -> Result<(), Unsendable>;

    /// Reads a message for the handler of this name.
    ///
    /// # Errors
    ///
    /// If there is no such handler, or an argument cannot be read.
    fn decode(handler: &str, arguments: &mut Arguments<'_>) -> Result<Self::Message, Undecodable>;
}

/// A type of remote actors, without naming it.
#[derive(Clone, Copy)]
pub(super) struct RemoteType {
    pub(super) name: &'static str,
    pub(super) type_name: &'static str,
    contract: &'static [RemoteHandler],
    /// Where messages for an actor of this type go.
    pub(super) inlet: fn(&AnyActorRef) -> Option<Box<dyn Inlet>>,
    /// Whether refs of this type reach the actor.
    pub(super) reaches: fn(&AnyActorRef) -> bool,
    /// The proxy of an actor of this type.
    pub(super) proxy: fn(&std::sync::Arc<Link>, u64, u64, &str) -> Option<AnyActorRef>,
}

/// Takes messages of other nodes for one actor here.
pub(super) trait Inlet {
    /// Reads a message for the handler of this name, and hands it to the actor. Gives the message back if the mailbox is full or others
    /// wait before it.
    fn deliver(&self, handler: &str, arguments: Arguments<'_>, must_wait: bool) -> Delivered;

    /// Makes a dead letter of a message for the handler of this name, and answers its asker.
    fn lose(&self, handler: &str, why: DeadLetterReason, asked: Option<Asked>);
}

/// What became of a message of another node.
pub(crate) enum Delivered {
    /// It waits for the actor, or it became a dead letter of the actor's.
    Taken,
    /// The actor has ended.
    Gone,
    /// The mailbox is full.
    Full(HeldMessage),
}

impl RemoteType {
    pub(super) fn of<A: RemoteActor>() -> Self {
        Self {
            name: A::NAME,
            type_name: type_name::<A>(),
            contract: A::CONTRACT,
            inlet: |actor| actor.downcast::<A>().map(|actor| Box::new(actor) as _),
            reaches: |actor| actor.downcast::<A>().is_some(),
            proxy: |link, mine, uid, path| link.proxy::<A>(mine, uid, path).map(|proxy| proxy.to_any()),
        }
    }

    /// The name that dead letters give to messages for this handler.
    pub(super) fn message_name(&self, handler: &str) -> Option<&'static str> {
        self.contract.iter().find(|known| known.name == handler).map(|known| known.message)
    }
}

impl<A: RemoteActor> Inlet for ActorRef<A> {
    fn deliver(&self, handler: &str, mut arguments: Arguments<'_>, must_wait: bool) -> Delivered {
        let read = contained(|| <A as RemoteActor>::decode(handler, &mut arguments));
        let asked = arguments.into_asked();
        let message = match read {
            Ok(Ok(message)) => message,
            Ok(Err(why)) => {
                self.lose(handler, why.into(), asked);
                return Delivered::Taken;
            }
            Err(payload) => {
                crate::base::drop_contained(payload);
                self.lose(handler, DeadLetterReason::Undecodable, asked);
                return Delivered::Taken;
            }
        };
        if must_wait {
            return Delivered::Full(held(self, message));
        }
        match self.offer(message) {
            Ok(()) => Delivered::Taken,
            Err(full) if full.reason() == SendErrorReason::MailboxFull => {
                Delivered::Full(held(self, full.into_message()))
            }
            Err(refused) => cannot_push(self, refused),
        }
    }

    fn lose(&self, handler: &str, why: DeadLetterReason, asked: Option<Asked>) {
        let name = RemoteType::of::<A>().message_name(handler).unwrap_or("unknown");
        lose(&self.to_any(), name, why, asked);
    }
}

/// Makes a dead letter of a message of another node, and answers its asker.
pub(super) fn lose(actor: &AnyActorRef, name: &'static str, why: DeadLetterReason, asked: Option<Asked>) {
    let is_asked = asked.is_some();
    if let Some(asked) = asked {
        asked.fail(&AskError::Undeliverable);
    }
    actor.core().lost(Lost::new(name, why, is_asked));
}

/// A message that waits for room.
fn held<A: RemoteActor>(actor: &ActorRef<A>, message: A::Message) -> HeldMessage {
    let (to, name, actor) = (actor.to_any(), A::message_name(&message), actor.clone());
    let deliver = async move {
        let Err(refused) = actor.tell_when_room(message).await else { return Delivered::Taken };
        cannot_push(&actor, refused)
    };
    HeldMessage { to, name, deliver: Box::pin(deliver) }
}

/// Gives an actor a message. If the actor refuses it, it becomes a dead letter, and its asker is told why.
pub(crate) fn push<A: Actor>(actor: &ActorRef<A>, message: A::Message) -> Delivered {
    actor.tell(message).map_or_else(|refused| cannot_push(actor, refused), |()| Delivered::Taken)
}

fn cannot_push<A: Actor>(actor: &ActorRef<A>, refused: SendError<A::Message>) -> Delivered {
    let (reason, message) = (refused.reason(), refused.into_message());
    match reason {
        // The message has already become a dead letter.
        SendErrorReason::Stopped | SendErrorReason::Unreachable => {
            drop_because(actor.core().end_reason().into_ask_error(), message);
            Delivered::Gone
        }
        SendErrorReason::TooManyChildren => {
            drop_because(AskError::TooManyChildren, message);
            Delivered::Taken
        }
        SendErrorReason::MailboxFull => {
            let name = A::message_name(&message);
            actor.core().lose(name, DeadLetterReason::MailboxFull, AskError::MailboxFull, message);
            Delivered::Taken
        }
        #[cfg(feature = "durable")]
        SendErrorReason::NotAccepted => {
            let name = A::message_name(&message);
            actor.core().lose(name, DeadLetterReason::NotAccepted, AskError::Undeliverable, message);
            Delivered::Taken
        }
    }
}

/// Stands for an actor of another node that has no type here: a watcher that can only be told of ends.
pub(super) struct Nobody;

/// There is no such message.
pub(super) enum Nothing {}

impl Supervisor for Nobody {
    type Ref = ActorRef<Self>;
    const STASH_CAPACITY: usize = 0;
}

impl Actor for Nobody {
    type Message = Nothing;
}

impl RemoteActor for Nobody {
    const NAME: &'static str = "";
    const CONTRACT: &'static [RemoteHandler] = &[];

    fn encode(message: Nothing, _: &mut Outgoing) -> Result<(), Unsendable> {
        match message {}
    }

    fn decode(_: &str, _: &mut Arguments<'_>) -> Result<Nothing, Undecodable> {
        Err(Undecodable::UnknownMessage)
    }
}
