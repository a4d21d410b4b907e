//! Methods that users of other frameworks expect on a ref. The compiler tells them what to write instead.

use crate::actor::{Answer, SendErrorReason, TypedRef};

/// Implemented by `#[actor]` for the ref it generates, and for no other: a ref that dereferences to a generated one keeps its
/// handlers of these names.
pub trait MigrationHints: TypedRef {
    /// `tell(message)`
    fn tell<M>(&self, _: M) -> Result<(), SendErrorReason>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref takes messages")
    }

    /// `send(message)`
    fn send<M>(&self, _: M) -> Answer<()>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref takes messages")
    }

    /// `ask(message)`
    fn ask<M>(&self, _: M) -> Answer<()>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref takes messages")
    }
}

/// No ref does: its methods make the messages.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` takes no messages but has a method for each of them",
    label = "call the method that is named after the handler",
    note = "for `#[handler] fn greet(&mut self, name: String)` write `r.greet(name).await?` to ask, `r.greet(name).tell()?` to send"
)]
pub trait TakesMessages {}
