//! What people who come from other frameworks call on a ref: `tell` works, and for the others the compiler says how it is done here.

use crate::actor::{Actor, Answer, MessageFor, SendError, TypedRef};

/// Implemented by `#[actor]` for the ref it generates, and for no other: a ref that dereferences to a generated one keeps its
/// handlers of these names.
pub trait MigrationHints: TypedRef {
    /// Sends a message that was built by hand, as [`ActorRef::tell`](crate::ActorRef::tell) does.
    ///
    /// # Errors
    ///
    /// Gives the message back when the actor has stopped, or its bounded mailbox is full and refuses.
    fn tell<M>(&self, message: M) -> Result<(), SendError<<Self::Actor as Actor>::Message>>
    where
        Self::Actor: Actor,
        M: MessageFor<Self::Actor>,
    {
        self.actor_ref().tell(message)
    }

    /// `send(message)`
    fn send<M>(&self, _: M) -> Answer<()>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref implements it")
    }

    /// `ask(message)`
    fn ask<M>(&self, _: M) -> Answer<()>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref implements it")
    }
}

/// No ref does: a reply has a type, which only the method of a handler knows.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` has a method for each message",
    label = "call the method that is named after the handler",
    note = "for `#[handler] fn greet(&mut self, name: String)` write `r.greet(name).await?` to ask, `r.greet(name).tell()?` to send"
)]
pub trait TakesMessages {}
