//! A request: one message on its way to an actor, told or asked.
//!
//! An ask resolves at most once: with the reply, or with an error. The error is the failure that the message caused,
//! the end of the actor, a full mailbox, or the timeout. The holder of the [`ReplyTo`] resolves the ask, except for the
//! timeout, which is up to the asker.
//!
//! Rules 1.5, 1.7, 19.2, 19.5, 19.6 and 19.8.

mod error;
mod not_a_future;
mod when_room;
mod within;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use tokio::task::coop::consume_budget;

pub use self::error::{AskError, CircuitOpen, SendError, SendErrorReason};
pub use self::not_a_future::AwaitedInAnAsyncBlock;
pub use self::when_room::WhenRoom;
pub use self::within::{AskTimeout, AskWithin};

use crate::actor::actor_ref::ActorRef;
use crate::actor::definition::Actor;
use crate::actor::dispatch::Task;
use crate::actor::held_up;
use crate::actor::reply::{Answer, ReplyTo, drop_because};
#[cfg(feature = "durable")]
use crate::actor::stored;
use crate::actor::waits_for::{self, Asking};
use crate::base::drop_contained;
use crate::mailbox::Pushed;
use crate::observe::DeadLetterReason;

/// One message to one actor, which has not been sent yet.
///
/// `.await` asks and returns the reply, [`tell`](Self::tell) sends without waiting for a reply, [`send`](Self::send)
/// waits for room in a bounded mailbox, [`when_room().await`](Self::when_room) waits for room and then for the reply, and
/// [`timeout`](Self::timeout) bounds an ask in time. Dropping a request sends nothing.
///
/// If rustc says that the `?` operator cannot be applied to a `Request` (E0277), the `.await` before it is missing: write
/// `r.fetch(id).await?` to ask, or `r.fetch(id).tell()?` to send.
///
/// `K` is [`Transient`] for a handler with `#[handler(transient)]`, whose messages a durable mailbox does not store.
#[must_use = "nothing has been sent: `.await` it to ask, or `.tell()` it to send, as in `let _ = r.fetch(id).tell();` (if rustc proposes only `let _ =`, do not follow it, because that sends nothing)"]
pub struct Request<'a, A: Actor, T, K = Ordinary> {
    pub(in crate::actor) to: &'a ActorRef<A>,
    pub(in crate::actor) message: A::Message,
    attach: fn(&mut A::Message, ReplyTo<T>),
    how: How,
    kind: PhantomData<fn() -> K>,
}

/// Marks the requests of most handlers, see [`Request`].
#[derive(Debug, Clone, Copy)]
pub enum Ordinary {}

/// Marks the requests of handlers whose messages are never stored, see [`Request`].
#[derive(Debug, Clone, Copy)]
pub enum Transient {}

/// How a request is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Ordinary,
    Inline,
    Retried,
}

impl<'a, A: Actor, T> Request<'a, A, T> {
    /// Makes a request from a message with an empty reply slot. `attach` fills the slot in if the request is asked.
    pub fn new(to: &'a ActorRef<A>, message: A::Message, attach: fn(&mut A::Message, ReplyTo<T>)) -> Self {
        Self { to, message, attach, how: How::Ordinary, kind: PhantomData }
    }

    /// The same request, whose message is never stored.
    #[doc(hidden)]
    pub fn transient(self) -> Request<'a, A, T, Transient> {
        let Self { to, message, attach, how, kind: _ } = self;
        Request { to, message, attach, how, kind: PhantomData }
    }
}

impl<A: Actor, T, K> Request<'_, A, T, K> {
    /// If the actor is idle, an ask runs the handler in the poll that sends the message, instead of waking a carrier task.
    /// Meant for handlers that return at once. `#[handler(inline)]` makes such requests.
    /// Rule [1.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-1.8).
    pub fn inline(mut self) -> Self {
        self.how = How::Inline;
        self
    }

    /// If the message makes the actor fail and is delivered again after the restart (`#[handler(redeliver = N)]`), the ask
    /// waits for that delivery. If there is no further delivery, it fails with the last failure. Without `retried`, the asker
    /// gets the first failure at once. With [`reply_to`](Self::reply_to) it holds for the asker whose slot is handed on. Has no effect on a
    /// request that is told.
    /// Rule [19.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.5).
    pub fn retried(mut self) -> Self {
        self.how = How::Retried;
        self
    }
}

#[cfg(feature = "durable")]
impl<'a, A: Actor, T: Send + 'static> Request<'a, A, T> {
    /// Asks with a key. See [`Keyed`](crate::Keyed).
    pub(in crate::actor) fn ask_keyed(mut self, key: String) -> stored::Asking<'a, T> {
        Box::pin(async move {
            let asker = std::future::poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
            let to = self.to;
            if to.is_woken_by(&asker) {
                drop_contained(self.message);
                return Err(AskError::AskedItself(Box::new(to.path())));
            }
            let asking = waits_for::asked_by(&asker);
            let mut answer = self.attach(Some(asker), asking);
            if let Err(circle) = answer.is_awaited(to) {
                drop_contained(self.message);
                return Err(AskError::AskedInCircle(circle));
            }
            let name = A::message_name(&self.message);
            let asking = stored::asking(to, self.message, answer, Some(key));
            match to.core().ask_timeout() {
                None => asking.await,
                Some(limit) => AskWithin::new(Ask(AskState::Boxed(asking)), to, name, limit).await,
            }
        })
    }
}

impl<'a, A: Actor, T: Send + 'static, K> Request<'a, A, T, K> {
    /// Sends the message without waiting for a reply. The handler's reply is dropped.
    ///
    /// # Errors
    ///
    /// If the actor has stopped, or its bounded mailbox is full and refuses messages. The error holds the message.
    pub fn tell(self) -> Result<(), SendError<A::Message>> {
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return self.to.tell_stored(self.message);
        }
        let guard = self.to.enter();
        self.to.pushed(guard.push(self.message), false)
    }

    /// Waits for room and sends the message, without waiting for a reply. Senders that wait get room in order.
    ///
    /// # Errors
    ///
    /// If the actor has stopped. In one case, `send` fails with `MailboxFull` instead of waiting: a handler or hook sends, and the actor
    /// restarts or stops only after that code has returned, so it makes no room before. The mailbox then takes up to twice as many messages
    /// as its bound, and refuses the next one (rule
    /// [14.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.8)). The error holds the message.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, nothing was sent, and the sender loses its place in the queue.
    #[inline]
    pub fn send(self) -> impl Future<Output = Result<(), SendError<A::Message>>> + use<'a, A, T, K> {
        self.to.send_when_room(self.message)
    }

    /// Sends the message now and returns a future of the reply.
    ///
    /// # Errors
    ///
    /// If the actor has stopped, or its bounded mailbox is full and refuses messages. The error holds the message.
    pub fn ask(mut self) -> Result<Answer<T>, SendError<A::Message>> {
        let answer = self.attach(None, Asking::default());
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return self.to.tell_stored(self.message).map(|()| answer);
        }
        let guard = self.to.enter_to_ask();
        let pushed = guard.push(self.message);
        self.how.pushed(self.to, pushed).map(|()| answer)
    }

    /// Sends the message, whose reply then goes to the asker of another message. A handler that has taken its reply
    /// slot can pass the slot on in this way. If the actor fails at the message, the failure goes to that asker too. If
    /// the actor has stopped, or its bounded mailbox is full and refuses messages, the asker gets the error for that.
    /// Rule [19.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.2).
    pub fn reply_to(mut self, reply: ReplyTo<T>) {
        let asked = reply.is_asked();
        self.hand_on(reply);
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return self.to.reply_to_stored(self.message);
        }
        let guard = self.to.enter();
        if let Err(refused) = self.to.pushed(guard.push(self.message), asked) {
            cannot_hand_on(self.to, refused);
        }
    }

    /// Like [`reply_to`](Self::reply_to), but waits for room in a bounded mailbox, as [`send`](Self::send) does.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, nothing was sent, and the asker gets [`AskError::Unanswered`].
    pub fn send_reply_to(mut self, reply: ReplyTo<T>) -> impl Future<Output = ()> + use<'a, A, T, K> {
        self.hand_on(reply);
        let Self { to, message, .. } = self;
        async move {
            #[cfg(feature = "durable")]
            if const { A::DURABLE.is_some() } {
                return to.reply_to_stored(message);
            }
            if let Err(refused) = to.push_when_room(message).await {
                cannot_hand_on(to, refused);
            }
        }
    }

    /// Puts the slot of another message's asker into this one.
    fn hand_on(&mut self, reply: ReplyTo<T>) {
        if self.how == How::Retried {
            reply.becomes_patient();
        }
        (self.attach)(&mut self.message, reply);
    }

    /// Makes the reply slot. The reply wakes `asker`, unless another task polls the answer first.
    #[inline]
    fn attach(&mut self, asker: Option<Waker>, asking: Asking) -> Answer<T> {
        let (reply, answer) = ReplyTo::of(asker, self.how == How::Retried, asking);
        (self.attach)(&mut self.message, reply);
        answer
    }

    /// Asks, and gives up after `limit`, whatever limit the actor or the system sets
    /// (rule [19.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.6)). The message stays in the
    /// mailbox: its handler still runs later, and its reply is dropped. A handler with
    /// `#[handler(skip_abandoned)]` does not run for it
    /// (rule [19.9](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.9)).
    ///
    /// The clock is that of the tokio runtime in which the ask is first polled. Outside a runtime, it is that of the actor's
    /// system.
    ///
    /// # Panics
    ///
    /// If it is first polled in a tokio runtime without timers.
    pub fn timeout(self, limit: Duration) -> AskWithin<'a, A, T> {
        let (to, message) = (self.to, A::message_name(&self.message));
        AskWithin::new(self.into_future(), to, message, limit)
    }

    /// The kind matters only until the request is asked.
    fn of_any_kind(self) -> Request<'a, A, T> {
        let Self { to, message, attach, how, kind: _ } = self;
        Request { to, message, attach, how, kind: PhantomData }
    }

    pub(crate) fn into_parts(self) -> (ActorRef<A>, A::Message) {
        (self.to.clone(), self.message)
    }

    /// The message itself, for [`Context::watch_with`](crate::Context::watch_with) and timers.
    pub fn into_message(self) -> A::Message {
        self.message
    }
}

impl<A: Actor, T, K> fmt::Debug for Request<'_, A, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("to", self.to)
            .field("message", &A::message_name(&self.message))
            .finish_non_exhaustive()
    }
}

impl<'a, A: Actor, T: Send + 'static, K> IntoFuture for Request<'a, A, T, K> {
    type Output = Result<T, AskError>;
    type IntoFuture = Ask<'a, A, T>;

    fn into_future(self) -> Ask<'a, A, T> {
        Ask(AskState::Unsent(self.of_any_kind()))
    }
}

/// An ask: sends the message when it is first polled, and completes with the reply.
///
/// # Cancel safety
///
/// If it is dropped before the first poll, nothing was sent. If it is dropped later, the handler still runs and its
/// reply is dropped.
#[must_use = "futures do nothing unless awaited"]
pub struct Ask<'a, A: Actor, T>(AskState<'a, A, T>);

enum AskState<'a, A: Actor, T> {
    Unsent(Request<'a, A, T>),
    Waiting(Answer<T>, &'a ActorRef<A>),
    /// The actor or the system sets a limit, the message is stored first, or the asker waits for room.
    Boxed(BoxedAsk<'a, T>),
    Done,
}

/// An ask with a future of its own, which few asks need.
type BoxedAsk<'a, T> = Pin<Box<dyn Future<Output = Result<T, AskError>> + Send + 'a>>;

// `poll` moves the message out; it never pins it.
impl<A: Actor, T> Unpin for Ask<'_, A, T> {}

impl<A: Actor, T: Send + 'static> Future for Ask<'_, A, T> {
    type Output = Result<T, AskError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            AskState::Waiting(answer, to) => answer.poll_unless_held_up(to, cx),
            _ => self.poll_with(true, cx),
        }
    }
}

impl<A: Actor, T: Send + 'static> Ask<'_, A, T> {
    /// The asker stops waiting (rule 19.8). Its message is dropped if it was not sent.
    fn give_up(&mut self) {
        drop_contained(std::mem::replace(&mut self.0, AskState::Done));
    }

    /// Its message is not sent. Out of line, because few asks need this.
    #[cold]
    #[inline(never)]
    fn refused(&mut self, error: impl FnOnce() -> AskError) -> AskError {
        self.give_up();
        error()
    }

    /// Without the limit that the actor or the system sets.
    fn poll_unlimited(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<T, AskError>> {
        self.poll_with(false, cx)
    }

    #[inline]
    fn poll_with(&mut self, limited: bool, cx: &mut TaskContext<'_>) -> Poll<Result<T, AskError>> {
        let request = match &mut self.0 {
            AskState::Waiting(answer, to) => return answer.poll_unless_held_up(to, cx),
            AskState::Unsent(request) => request,
            AskState::Boxed(asking) => return asking.as_mut().poll(cx),
            AskState::Done => panic!("an ask was polled after it had completed"),
        };
        let (to, how) = (request.to, request.how);
        let inline = how == How::Inline;
        if to.is_woken_by(cx.waker()) {
            return Poll::Ready(Err(self.refused(|| AskError::AskedItself(Box::new(to.path())))));
        }
        if inline && pin!(consume_budget()).poll(cx).is_pending() {
            // A task that asks in a loop and gets each reply at once would otherwise never yield.
            return Poll::Pending;
        }
        // An ordinary ask gets its reply in a later poll, so its slot must know the waker.
        let asker = if inline { None } else { Some(cx.waker().clone()) };
        let mut answer = request.attach(asker, waits_for::asked_by(cx.waker()));
        if let Err(circle) = answer.is_awaited(to) {
            return Poll::Ready(Err(self.refused(|| AskError::AskedInCircle(circle))));
        }
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return self.poll_stored(answer, limited, cx);
        }
        let guard = to.enter_to_ask();
        if limited
            && guard.is_guarded()
            && let Some(limit) = to.core().ask_timeout()
        {
            // The name of a message may come from the user's code.
            drop(guard);
            return self.poll_limited(answer, limit, cx);
        }
        let AskState::Unsent(request) = std::mem::replace(&mut self.0, AskState::Waiting(answer, to)) else {
            unreachable!("the request was here a line above")
        };
        let pushed = guard.push(request.message);
        if let Err(refused) = how.pushed(to, pushed) {
            self.0 = AskState::Done;
            return Poll::Ready(Err(asked_in_vain(to, refused)));
        }
        if inline && let AskState::Waiting(answer, _) = &mut self.0 {
            Pin::new(answer).poll(cx)
        } else if held_up::is_possible() {
            held_up::poll_ask_in_vain(to, cx).map(|held_up| {
                self.0 = AskState::Done;
                Err(held_up)
            })
        } else {
            Poll::Pending
        }
    }

    /// The rest of the first poll of an ask of a durable actor.
    #[cfg(feature = "durable")]
    #[cold]
    fn poll_stored(
        &mut self,
        answer: Answer<T>,
        limited: bool,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Result<T, AskError>> {
        let AskState::Unsent(request) = std::mem::replace(&mut self.0, AskState::Done) else {
            unreachable!("called with a request")
        };
        let (to, name) = (request.to, A::message_name(&request.message));
        self.0 = AskState::Boxed(stored::asking(to, request.message, answer, None));
        if limited && let Some(limit) = to.core().ask_timeout() {
            let asking = Ask(std::mem::replace(&mut self.0, AskState::Done));
            self.0 = AskState::Boxed(Box::pin(AskWithin::new(asking, to, name, limit)));
        }
        self.poll_unlimited(cx)
    }

    /// The rest of the first poll of an ask, if the actor or its system sets a limit.
    #[cold]
    fn poll_limited(
        &mut self,
        answer: Answer<T>,
        limit: Duration,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Result<T, AskError>> {
        let AskState::Unsent(request) = std::mem::replace(&mut self.0, AskState::Done) else {
            unreachable!("called with a request")
        };
        let (to, name) = (request.to, A::message_name(&request.message));
        let guard = to.enter_to_ask();
        let pushed = guard.push(request.message);
        if let Err(refused) = request.how.pushed(to, pushed) {
            return Poll::Ready(Err(asked_in_vain(to, refused)));
        }
        let within = AskWithin::new(Ask(AskState::Waiting(answer, to)), to, name, limit);
        self.0 = AskState::Boxed(Box::pin(within));
        self.poll_unlimited(cx)
    }
}

/// Tells the asker of a message that could not be handed on.
#[cold]
fn cannot_hand_on<A: Actor>(to: &ActorRef<A>, refused: SendError<A::Message>) {
    let (why, message) = (not_taken(to, refused.reason()), refused.into_message());
    if matches!(why, AskError::MailboxFull) {
        to.core().lose(A::message_name(&message), DeadLetterReason::MailboxFull, why, message);
    } else {
        // It has already become a dead letter.
        drop_because(why, message);
    }
}

/// Why an ask of `to` was not even sent.
#[cold]
fn not_taken<A>(to: &ActorRef<A>, reason: SendErrorReason) -> AskError {
    match reason {
        SendErrorReason::Stopped => to.core().end_reason().into_ask_error(),
        reason => reason.into(),
    }
}

/// The error for an ask whose message came back.
#[cold]
pub(in crate::actor) fn asked_in_vain<A: Actor>(to: &ActorRef<A>, refused: SendError<A::Message>) -> AskError {
    let why = not_taken(to, refused.reason());
    drop_contained(refused.into_message());
    why
}

impl How {
    /// Handles the result of pushing a request.
    #[inline]
    fn pushed<A: Actor>(
        self,
        to: &ActorRef<A>,
        pushed: Pushed<A::Message, Task>,
    ) -> Result<(), SendError<A::Message>> {
        if self == Self::Inline { to.pushed_inline(pushed) } else { to.pushed(pushed, true) }
    }
}

impl<A: Actor, T> fmt::Debug for Ask<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").finish_non_exhaustive()
    }
}
