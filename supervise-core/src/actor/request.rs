//! A request: one message on its way to an actor, told or asked.
//!
//! Every ask resolves exactly once: with the reply, with the failure it caused, because the actor stopped, because
//! its mailbox was full, or by its timeout. Which of them is not decided here but by whoever holds the [`ReplyTo`].
//!
//! Rules 1.5 and 1.7.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use tokio::task::coop::consume_budget;

use crate::actor::actor_ref::ActorRef;
use crate::actor::definition::Actor;
use crate::actor::reply::{Answer, ReplyTo};
use crate::base::ActorPath;
use crate::failure::Failure;

/// One message to one actor, not sent yet.
///
/// `.await` asks and gives the reply, [`tell`](Self::tell) sends and forgets, [`send`](Self::send) waits for room in
/// a bounded mailbox, [`timeout`](Self::timeout) bounds an ask. Dropping it sends nothing.
#[must_use = "nothing has been sent yet: `.await` it to ask, `.tell()` it to send"]
pub struct Request<'a, A: Actor, T> {
    to: &'a ActorRef<A>,
    message: A::Message,
    attach: fn(&mut A::Message, ReplyTo<T>),
    inline: bool,
}

impl<'a, A: Actor, T> Request<'a, A, T> {
    /// A request whose message has an empty reply slot; `attach` fills it in when the request is asked.
    pub fn new(to: &'a ActorRef<A>, message: A::Message, attach: fn(&mut A::Message, ReplyTo<T>)) -> Self {
        Self { to, message, attach, inline: false }
    }

    /// Lets an ask whose actor is idle handle the message itself, in the poll that sends it, instead of waking a worker: for
    /// handlers that come back at once. What `#[handler(inline)]` makes. Rule 1.8.
    pub fn inline(mut self) -> Self {
        self.inline = true;
        self
    }
}

impl<'a, A: Actor, T: Send + 'static> Request<'a, A, T> {
    /// Sends the message and forgets it. The handler's reply is dropped.
    ///
    /// # Errors
    ///
    /// Gives the message back when the actor has stopped, or its bounded mailbox is full and refuses.
    pub fn tell(self) -> Result<(), SendError<A::Message>> {
        let guard = self.to.enter();
        self.to.pushed(guard.push(self.message), false)
    }

    /// Sends the message as soon as there is room for it and forgets it. Waiting senders are served in order.
    ///
    /// # Errors
    ///
    /// Gives the message back when the actor has stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, nothing was sent, and the place in the queue is lost.
    #[inline]
    pub fn send(self) -> impl Future<Output = Result<(), SendError<A::Message>>> + use<'a, A, T> {
        self.to.push_when_room(self.message)
    }

    /// Sends the message now and gives the answer to wait for.
    ///
    /// # Errors
    ///
    /// Gives the message back when the actor has stopped, or its bounded mailbox is full and refuses.
    pub fn ask(mut self) -> Result<Answer<T>, SendError<A::Message>> {
        let answer = self.attach(None);
        let guard = self.to.enter();
        let pushed = guard.push(self.message);
        if self.inline { self.to.pushed_inline(pushed) } else { self.to.pushed(pushed, true) }.map(|()| answer)
    }

    /// Makes the slot for the answer. `asker` is woken by it, unless another polls first.
    #[inline]
    fn attach(&mut self, asker: Option<Waker>) -> Answer<T> {
        let (reply, answer) = ReplyTo::asked_by(asker);
        (self.attach)(&mut self.message, reply);
        answer
    }

    /// Asks, and gives up after `limit`. The handler may still run; its reply is dropped.
    ///
    /// # Panics
    ///
    /// When first polled outside a tokio runtime with timers.
    pub fn timeout(self, limit: Duration) -> AskWithin<'a, A, T> {
        AskWithin { ask: self.into_future(), limit, sleep: None }
    }

    pub(crate) fn into_parts(self) -> (ActorRef<A>, A::Message) {
        (self.to.clone(), self.message)
    }

    /// The message itself, for [`Context::watch_with`](crate::Context::watch_with) and timers.
    pub fn into_message(self) -> A::Message {
        self.message
    }
}

impl<A: Actor, T> fmt::Debug for Request<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("to", self.to)
            .field("message", &A::message_name(&self.message))
            .finish_non_exhaustive()
    }
}

impl<'a, A: Actor, T: Send + 'static> IntoFuture for Request<'a, A, T> {
    type Output = Result<T, AskError>;
    type IntoFuture = Ask<'a, A, T>;

    fn into_future(self) -> Ask<'a, A, T> {
        Ask(AskState::Unsent(self))
    }
}

/// An ask under way: sends when first polled, completes with the answer.
///
/// # Cancel safety
///
/// Dropped before the first poll, nothing was sent. Dropped later, the handler still runs and its reply is dropped.
#[must_use = "futures do nothing unless awaited"]
pub struct Ask<'a, A: Actor, T>(AskState<'a, A, T>);

enum AskState<'a, A: Actor, T> {
    Unsent(Request<'a, A, T>),
    Waiting(Answer<T>),
    Done,
}

// The message is moved out whole, never pinned.
impl<A: Actor, T> Unpin for Ask<'_, A, T> {}

impl<A: Actor, T: Send + 'static> Future for Ask<'_, A, T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let request = match &mut self.0 {
            AskState::Waiting(answer) => return Pin::new(answer).poll(cx),
            AskState::Unsent(request) => request,
            AskState::Done => panic!("an ask was polled after it had completed"),
        };
        let (to, inline) = (request.to, request.inline);
        if to.is_woken_by(cx.waker()) {
            let path = Box::new(to.path());
            self.0 = AskState::Done;
            return Poll::Ready(Err(AskError::AskedItself(path)));
        }
        if inline && pin!(consume_budget()).poll(cx).is_pending() {
            // Whoever asks again and again and is answered at once would never let others have their turn.
            return Poll::Pending;
        }
        // An ordinary ask is answered in another poll, and its slot knows whom to wake.
        let asker = if inline { None } else { Some(cx.waker().clone()) };
        let answer = request.attach(asker);
        let guard = to.enter();
        let AskState::Unsent(request) = std::mem::replace(&mut self.0, AskState::Waiting(answer)) else {
            unreachable!("the request was here a line above")
        };
        let pushed = guard.push(request.message);
        if let Err(refused) = if inline { to.pushed_inline(pushed) } else { to.pushed(pushed, true) } {
            self.0 = AskState::Done;
            return Poll::Ready(Err(refused.reason().into()));
        }
        if inline && let AskState::Waiting(answer) = &mut self.0 {
            Pin::new(answer).poll(cx)
        } else {
            Poll::Pending
        }
    }
}

impl<A: Actor, T> fmt::Debug for Ask<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").finish_non_exhaustive()
    }
}

/// An ask bounded in time, see [`Request::timeout`].
#[must_use = "futures do nothing unless awaited"]
pub struct AskWithin<'a, A: Actor, T> {
    ask: Ask<'a, A, T>,
    limit: Duration,
    /// Made at the first poll, so that the time counts from there.
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl<A: Actor, T: Send + 'static> Future for AskWithin<'_, A, T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(answer) = Pin::new(&mut self.ask).poll(cx) {
            return Poll::Ready(answer);
        }
        let limit = self.limit;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        sleep.as_mut().poll(cx).map(|()| Err(AskError::Timeout(limit)))
    }
}

impl<A: Actor, T> fmt::Debug for AskWithin<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskWithin").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// Why a message was not taken. Holds the message. `Send` and `Sync` for every message, so that `?` turns it into any
/// boxed error.
pub struct SendError<M> {
    /// Nobody locks it: a message need not be `Sync`, and this makes the error so.
    message: Mutex<M>,
    reason: SendErrorReason,
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendErrorReason {
    /// The actor has stopped. A retry cannot help.
    #[error("the actor has stopped")]
    Stopped,
    /// The bounded mailbox is full. A retry may help, `send().await` waits for room.
    #[error("the actor's mailbox is full")]
    MailboxFull,
}

impl<M> SendError<M> {
    pub(crate) fn new(message: M, reason: SendErrorReason) -> Self {
        Self { message: Mutex::new(message), reason }
    }

    /// Why it was not taken.
    pub fn reason(&self) -> SendErrorReason {
        self.reason
    }

    /// The message.
    pub fn into_message(self) -> M {
        self.message.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)
    }
}

// Not derived: messages need no `Debug`.
impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<M> std::error::Error for SendError<M> {}

/// Why an ask has no reply.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The message made the actor fail.
    #[error("the actor failed: {0}")]
    Failed(#[source] Failure),
    /// The actor stopped before it answered.
    #[error("the actor stopped before it answered")]
    Stopped,
    /// The bounded mailbox had no room.
    #[error("the actor's mailbox is full")]
    MailboxFull,
    /// No answer came in time.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// A handler or hook of this actor awaited an answer of the same actor. The actor answers only when that handler has returned, so
    /// nothing was sent.
    #[error("{0} asked itself: the answer would wait for the handler that waits for it")]
    AskedItself(Box<ActorPath>),
}

impl From<SendErrorReason> for AskError {
    fn from(reason: SendErrorReason) -> Self {
        match reason {
            SendErrorReason::Stopped => Self::Stopped,
            SendErrorReason::MailboxFull => Self::MailboxFull,
        }
    }
}
