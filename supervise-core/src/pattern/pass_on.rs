//! Passing a message on, with its reply slot (rule 13.1).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::actor::{Actor, ActorRef, AskError, Context, SendError, SendErrorReason, TypedRef, drop_because};
use crate::base::drop_contained;
use crate::observe::DeadLetterReason;

/// Passes a message on. It waits for room in a bounded mailbox, so that a pattern slows its senders down as the
/// child itself would. The wait ends when the child ends, or when the pattern must stop.
///
/// If there is room, the message has been sent when this returns.
pub(crate) fn pass_on<S: Actor, C: Actor>(
    message: C::Message,
    to: &ActorRef<C>,
    ctx: &Context<S>,
) -> impl Future<Output = ()> + Send + use<S, C> {
    let without_room = to.push(message).err().and_then(|refused| match refused.reason() {
        // The message has already become a dead letter.
        reason @ (SendErrorReason::Stopped | SendErrorReason::Unreachable | SendErrorReason::TooManyChildren) => {
            drop_because(reason.into(), refused);
            None
        }
        #[cfg(feature = "durable")]
        SendErrorReason::NotAccepted => unreachable!("a push stores nothing"),
        SendErrorReason::MailboxFull => Some((refused.into_message(), to.clone(), ctx.stopping())),
    });
    async move {
        let Some((message, to, stopping)) = without_room else { return };
        let name = C::message_name(&message);
        let mut sent = pin!(to.push_when_room(message));
        let mut stopping = pin!(stopping);
        let stopped = poll_fn(|cx| match sent.as_mut().poll(cx) {
            // The child accepted the message, or it ended and the message is a dead letter.
            Poll::Ready(_) => Poll::Ready(false),
            Poll::Pending => stopping.as_mut().poll(cx).map(|()| true),
        });
        if stopped.await {
            to.core().dead_letter(name, DeadLetterReason::Stopped);
        }
    }
}

/// Makes a dead letter of a message for which the pattern has no child.
pub(super) fn to_dead_letters<S: Actor>(message: S::Message, why: DeadLetterReason, ctx: &Context<S>) {
    let name = S::message_name(&message);
    ctx.me().actor_ref().core().lose(name, why, AskError::Stopped, message);
}

/// Makes a dead letter of a message that did not find room and that no sender will send again.
pub(super) fn lost_without_room<C: Actor>(told: Result<(), SendError<C::Message>>, to: &ActorRef<C>) {
    let Err(refused) = told else { return };
    let reason = refused.reason();
    let message = refused.into_message();
    match reason {
        // The message has already become a dead letter.
        SendErrorReason::Stopped | SendErrorReason::Unreachable | SendErrorReason::TooManyChildren => {
            drop_contained(message);
        }
        #[cfg(feature = "durable")]
        SendErrorReason::NotAccepted => drop_contained(message),
        SendErrorReason::MailboxFull => {
            let name = C::message_name(&message);
            to.core().lose(name, DeadLetterReason::MailboxFull, AskError::Stopped, message);
        }
    }
}
