//! A message and the place for its reply, side by side. This is what is sent to an actor whose messages `#[actor]` generates.
//!
//! The message is a plain value without hidden fields. The slot is beside it and not in it, so that the message can be
//! matched, built, cloned and compared like any other value.
//!
//! Rules 1.5 and 1.7.

use std::any::type_name;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::actor::definition::Actor;
use crate::actor::reply::{ErasedSlot, ReplyTo, answer, drop_unanswered, is_abandoned};
use crate::actor::request::Request;
use crate::base::drop_contained;

/// A message that was sent, with the place for its reply.
///
/// This is the [`Actor::Message`] of an actor with `#[actor]`; `M` is the generated enum. A message that was built by hand
/// becomes an envelope without an asker by [`From`]. Handlers, `#[pre_restart]` and `#[stash_while]` get the enum itself;
/// a [`SendError`](crate::SendError) and a pattern's closures, such as
/// [`while_stopped`](crate::pattern::BackoffSupervisorProps::while_stopped), get the envelope.
///
/// Equality ignores the asker, and the reply to a clone is discarded. If an envelope is dropped, its asker
/// gets [`AskError::Unanswered`](crate::AskError::Unanswered).
pub struct Envelope<M> {
    // Dropped first: the reason for the drop is meant for this asker, and not for one whose slot is in the message.
    reply: ReplySlot,
    message: M,
}

/// The messages of an actor with `#[actor]`: [`Envelope`].
pub trait Enveloped {
    /// The enum that `#[actor]` generates.
    type Message: Send + 'static;
}

impl<M: Send + 'static> Enveloped for Envelope<M> {
    type Message = M;
}

/// The message enum of the actor `A`, such as `FeedMessage` of `Feed`.
pub type MessageOf<A> = <<A as Actor>::Message as Enveloped>::Message;

impl<M> Envelope<M> {
    /// The message.
    pub const fn message(&self) -> &M {
        &self.message
    }

    /// Whether the message was asked and its asker no longer waits, see
    /// [`ReplyTo::is_abandoned`](crate::ReplyTo::is_abandoned).
    pub fn is_abandoned(&self) -> bool {
        self.reply.is_abandoned()
    }

    /// The message without its asker. The asker gets [`AskError::Unanswered`](crate::AskError::Unanswered).
    pub fn into_message(self) -> M {
        self.message
    }

    /// The message, and the place for its reply.
    #[inline]
    pub fn into_parts(self) -> (M, ReplySlot) {
        (self.message, self.reply)
    }

    /// Whether it is stored and has its ticket.
    #[cfg(feature = "durable")]
    pub(crate) fn is_stored(&self) -> bool {
        self.reply.ticketed().is_some()
    }

    /// The asker's slot, or the ticket of a stored message.
    #[cfg(feature = "durable")]
    pub(crate) fn slot(&mut self) -> &mut ReplySlot {
        &mut self.reply
    }

    /// Sets the asker's slot of a copy.
    pub(crate) fn reattach(&mut self, reply: ReplySlot) {
        self.reply = reply;
    }

    /// Sets the asker's slot. For [`Request`].
    #[inline]
    pub(crate) fn attach<T: Send + 'static>(&mut self, reply: ReplyTo<T>) {
        self.reply = ReplySlot(reply.erase());
    }
}

impl<M> From<M> for Envelope<M> {
    fn from(message: M) -> Self {
        Self { reply: ReplySlot(None), message }
    }
}

/// The clone has no asker.
impl<M: Clone> Clone for Envelope<M> {
    fn clone(&self) -> Self {
        Self::from(self.message.clone())
    }
}

impl<M: PartialEq> PartialEq for Envelope<M> {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl<M: Eq> Eq for Envelope<M> {}

impl<M: fmt::Debug> fmt::Debug for Envelope<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.message, f)
    }
}

/// Where the reply to one message goes: to the asker's slot, or nowhere if the message was told.
///
/// Unlike [`ReplyTo`], it does not name the type of the reply. If it is dropped without a reply, the asker gets the same error
/// as with a `ReplyTo`.
pub struct ReplySlot(Option<Arc<dyn ErasedSlot>>);

impl ReplySlot {
    /// Whether the message was asked. Also `true` if the asker has given up in the meantime.
    pub fn is_asked(&self) -> bool {
        #[cfg(feature = "durable")]
        if let Some(ticketed) = self.ticketed() {
            return ticketed.is_asked();
        }
        self.0.is_some()
    }

    /// Whether the message was asked and its asker no longer waits, see
    /// [`ReplyTo::is_abandoned`](crate::ReplyTo::is_abandoned).
    pub fn is_abandoned(&self) -> bool {
        #[cfg(feature = "durable")]
        if let Some(ticketed) = self.ticketed() {
            return ticketed.is_abandoned();
        }
        self.0.as_ref().is_some_and(is_abandoned)
    }

    /// The ticket of a stored message, and its asker.
    #[cfg(feature = "durable")]
    fn ticketed(&self) -> Option<&super::stored::Ticketed> {
        self.0.as_ref()?.ticketed()
    }

    /// Whether the handler of a message may start: it is not stored, or no other process can have its queue.
    #[cfg(feature = "durable")]
    pub(crate) fn may_begin(&self) -> bool {
        self.ticketed().is_none_or(super::stored::Ticketed::may_begin)
    }

    /// Whether the message is a batch of its own, because it is stored and has failed or a process has died while
    /// handling it.
    #[cfg(feature = "durable")]
    pub(crate) fn is_tried_alone(&self) -> bool {
        self.ticketed().is_some_and(super::stored::Ticketed::is_tried_alone)
    }

    /// Takes the ticket of a stored message. Leaves its asker.
    #[cfg(feature = "durable")]
    pub(crate) fn take_ticket(&mut self) -> Option<Arc<crate::durable::Ticket>> {
        let (ticket, asker) = self.ticketed()?.take();
        let ticketed = std::mem::replace(&mut self.0, asker);
        drop(ticketed);
        ticket
    }

    /// Takes the asker's slot.
    #[cfg(feature = "durable")]
    pub(crate) fn take(&mut self) -> Option<Arc<dyn ErasedSlot>> {
        self.0.take()
    }

    /// Puts a stored message's ticket beside its asker.
    #[cfg(feature = "durable")]
    pub(crate) fn put_ticket(&mut self, ticket: Arc<crate::durable::Ticket>) {
        let asker = self.0.take();
        self.0 = Some(Arc::new(super::stored::Ticketed::new(ticket, asker)));
    }

    /// Gives the reply to the asker, if there is one.
    ///
    /// # Panics
    ///
    /// If `T` is not the type of the handler's reply, for which the asker waits. The asker then gets
    /// [`AskError::Unanswered`](crate::AskError::Unanswered), or the failure.
    pub fn answer<T: Send + 'static>(mut self, value: T) {
        match &self.0 {
            Some(slot) if !slot.takes::<T>() => {
                panic!("the asker waits for a `{}` and not for a `{}`", slot.expected(), type_name::<T>())
            }
            _ => {}
        }
        match self.0.take() {
            Some(slot) => answer(slot, value),
            None => drop_contained(value),
        }
    }

    pub(crate) fn of(slot: Arc<dyn ErasedSlot>) -> Self {
        Self(Some(slot))
    }

    #[inline]
    pub(crate) fn into_erased(self) -> Option<Arc<dyn ErasedSlot>> {
        // The rest has nothing to drop.
        ManuallyDrop::new(self).0.take()
    }
}

#[cfg(feature = "durable")]
impl From<Option<Arc<dyn ErasedSlot>>> for ReplySlot {
    fn from(slot: Option<Arc<dyn ErasedSlot>>) -> Self {
        Self(slot)
    }
}

impl Drop for ReplySlot {
    // Most messages are told.
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            drop_unanswered(&slot);
        }
    }
}

impl fmt::Debug for ReplySlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_asked() { "ReplySlot(asker)" } else { "ReplySlot(nobody)" })
    }
}

/// Something that can be sent to `A`: one of its messages, or a request to `A`.
///
/// `By` tells the two apart for the compiler. It follows from the value and is never written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message of `{A}`",
    label = "`{A}` has no handler for this",
    note = "the messages of `{A}` are generated from its handlers, such as `#[handler] fn greet(&mut self, name: String)`",
    note = "to send, call the handler's method: `r.greet(name).tell()?`, where `r` has the type `{A}Ref`",
    note = "to ask, write `r.greet(name).await?`",
    note = "where a message must be a value, write `{A}Message::Greet {{ name }}`",
    note = "a timer or a watch sends only to `{A}` itself: to reach another actor, add a handler to `{A}` that calls the other, `#[handler] fn pass_on(&mut self) {{ let _ = self.other.greet().tell(); }}`, and let the timer send `{A}Message::PassOn`"
)]
pub trait MessageFor<A: Actor, By = ByHand> {
    /// The message itself.
    fn into_message(self) -> A::Message;
}

/// Marks a message that was built by hand, see [`MessageFor`].
#[derive(Debug, Clone, Copy)]
pub enum ByHand {}

/// Marks the message of a request, see [`MessageFor`].
#[derive(Debug, Clone, Copy)]
pub enum ByRequest {}

#[diagnostic::do_not_recommend]
impl<A: Actor, M> MessageFor<A> for M
where
    A::Message: From<M>,
{
    fn into_message(self) -> A::Message {
        self.into()
    }
}

#[diagnostic::do_not_recommend]
impl<A: Actor, T: Send + 'static, K> MessageFor<A, ByRequest> for Request<'_, A, T, K> {
    fn into_message(self) -> A::Message {
        Self::into_message(self)
    }
}
