//! Opening a batch for its handler, and answering its askers.

use std::any::Any;
use std::sync::Arc;

use super::Sendable;
use crate::actor::{Actor, BatchSlot, Context, Envelope};

/// Opens the envelopes of a batch for its handler. Keeps the reply slots where they survive the handler's panic or abort.
pub fn open_batch<A, M, T>(
    ctx: &mut Context<A>,
    batch: Vec<Envelope<M>>,
    argument: impl Fn(M) -> Option<T>,
) -> Vec<T>
where
    A: Actor<Message = Envelope<M>>,
{
    let (mut messages, mut slots) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
    for envelope in batch {
        let (message, reply) = envelope.into_parts();
        messages.push(message);
        slots.push(reply.into_erased());
    }
    ctx.hold_batch(slots);
    messages.into_iter().filter_map(argument).collect()
}

/// What a handler with `batch` returns: one reply for each of its messages.
#[diagnostic::on_unimplemented(
    message = "a batch cannot be answered with `{Self}`",
    label = "each message of the batch needs a reply",
    note = "return nothing, or a `Vec` with one reply for each message in their order, or a `Result` of one of these"
)]
pub trait BatchReply {
    /// The reply to one message.
    type Each: Sendable;

    /// The replies to `count` messages.
    ///
    /// # Errors
    ///
    /// The number of replies, if it is not `count`.
    fn each(self, count: usize) -> Result<impl Iterator<Item = Self::Each>, usize>;
}

impl BatchReply for () {
    type Each = ();

    fn each(self, count: usize) -> Result<impl Iterator<Item = ()>, usize> {
        Ok(std::iter::repeat_n((), count))
    }
}

impl<T: Sendable> BatchReply for Vec<T> {
    type Each = T;

    fn each(self, count: usize) -> Result<impl Iterator<Item = T>, usize> {
        if self.len() == count { Ok(self.into_iter()) } else { Err(self.len()) }
    }
}

/// Sends the replies of a handler to the askers of a batch.
///
/// # Panics
///
/// If there are more or fewer replies than messages. That is a failure of the actor.
///
/// Rule [23.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.2).
pub fn reply_batch<A: Actor, R: BatchReply>(ctx: &mut Context<A>, handler: &str, count: usize, replies: R) {
    let replies = match replies.each(count) {
        Ok(replies) => replies,
        Err(given) => panic!("`{handler}` returned {given} replies to a batch of {count} messages"),
    };
    let Some(held) = ctx.take_held() else { return };
    let held: Arc<dyn Any + Send + Sync> = held;
    if let Ok(batch) = held.downcast::<BatchSlot>() {
        batch.answer(replies);
    }
}
