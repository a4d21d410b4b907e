//! A request: one message on its way to an actor, told or asked.
//!
//! An ask resolves at most once: with the reply, or with an error. The error is the failure that the message caused,
//! the end of the actor, a full mailbox, or the timeout. The holder of the [`ReplyTo`] resolves the ask, except for the
//! timeout, which is up to the asker.
//!
//! Rules 1.5, 1.7, 19.2, 19.5, 19.6 and 19.8.

mod not_a_future;
mod within;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use tokio::task::coop::consume_budget;

pub use self::not_a_future::AwaitedInAnAsyncBlock;
pub use self::within::{AskTimeout, AskWithin};

use crate::actor::actor_ref::ActorRef;
use crate::actor::definition::Actor;
use crate::actor::dispatch::Task;
use crate::actor::held_up::{self, Awaited};
use crate::actor::reply::{Answer, ReplyTo, drop_because};
#[cfg(feature = "durable")]
use crate::actor::stored;
use crate::actor::waits_for::{self, Asking};
use crate::base::ActorPath;
use crate::failure::Failure;
use crate::mailbox::Pushed;
use crate::observe::DeadLetterReason;

/// One message to one actor, which has not been sent yet.
///
/// `.await` asks and returns the reply, [`tell`](Self::tell) sends without waiting for a reply, [`send`](Self::send)
/// waits for room in a bounded mailbox, and [`timeout`](Self::timeout) bounds an ask in time. Dropping a request sends
/// nothing.
///
/// `K` is [`Transient`] for a handler with `#[handler(transient)]`, whose messages a durable mailbox does not store.
#[must_use = "nothing has been sent yet: `.await` it to ask, or `.tell()` it to send, as in `let _ = r.fetch(id).tell();`"]
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
    /// gets the first failure at once. Has no effect on a request that is told.
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
                return Err(AskError::AskedItself(Box::new(to.path())));
            }
            let asking = waits_for::asked_by(&asker);
            let mut answer = self.attach(Some(asker), asking);
            answer.is_awaited(to).map_err(AskError::AskedInCircle)?;
            let name = A::message_name(&self.message);
            let asking = stored::asking(to, self.message, answer, Some(key));
            match to.core().ask_timeout() {
                None => asking.await,
                Some(limit) => AskWithin::new(Ask(AskState::Stored(asking)), to, name, limit).await,
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
    /// If the actor has stopped. Also, with `MailboxFull`, if the actor makes no room before the sender's own handler has returned, and
    /// its mailbox is full beyond its bound (rule
    /// [14.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.8)). The error holds the message.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, nothing was sent, and the sender loses its place in the queue.
    #[inline]
    pub fn send(self) -> impl Future<Output = Result<(), SendError<A::Message>>> + use<'a, A, T, K> {
        self.to.send_when_room::<true>(self.message)
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
        (self.attach)(&mut self.message, reply);
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
        (self.attach)(&mut self.message, reply);
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
        let Self { to, message, attach, how, kind: _ } = self;
        Ask(AskState::Unsent(Request { to, message, attach, how, kind: PhantomData }))
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
    /// The actor or the system sets a limit.
    Limited(Box<AskWithin<'a, A, T>>),
    /// The message is stored first.
    #[cfg(feature = "durable")]
    Stored(stored::Asking<'a, T>),
    Done,
}

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
    /// The asker stops waiting (rule 19.8).
    fn give_up(&mut self) {
        self.0 = AskState::Done;
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
            AskState::Limited(within) => return Pin::new(&mut **within).poll(cx),
            #[cfg(feature = "durable")]
            AskState::Stored(asking) => return asking.as_mut().poll(cx),
            AskState::Done => panic!("an ask was polled after it had completed"),
        };
        let (to, how) = (request.to, request.how);
        let inline = how == How::Inline;
        if to.is_woken_by(cx.waker()) {
            let path = Box::new(to.path());
            self.0 = AskState::Done;
            return Poll::Ready(Err(AskError::AskedItself(path)));
        }
        if inline && pin!(consume_budget()).poll(cx).is_pending() {
            // A task that asks in a loop and gets each reply at once would otherwise never yield.
            return Poll::Pending;
        }
        // An ordinary ask gets its reply in a later poll, so its slot must know the waker.
        let asker = if inline { None } else { Some(cx.waker().clone()) };
        let mut answer = request.attach(asker, waits_for::asked_by(cx.waker()));
        if let Err(circle) = answer.is_awaited(to) {
            self.0 = AskState::Done;
            return Poll::Ready(Err(AskError::AskedInCircle(circle)));
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
            return Poll::Ready(Err(not_taken(to, refused.reason())));
        }
        if inline && let AskState::Waiting(answer, _) = &mut self.0 {
            Pin::new(answer).poll(cx)
        } else if held_up::is_possible() && held_up::waits_in_vain(to.core(), Awaited::Answer, cx.waker()) {
            self.0 = AskState::Done;
            Poll::Ready(Err(AskError::HeldUp(Box::new(to.path()))))
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
        self.0 = AskState::Stored(stored::asking(to, request.message, answer, None));
        if limited && let Some(limit) = to.core().ask_timeout() {
            let asking = Ask(std::mem::replace(&mut self.0, AskState::Done));
            self.0 = AskState::Limited(Box::new(AskWithin::new(asking, to, name, limit)));
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
            return Poll::Ready(Err(not_taken(to, refused.reason())));
        }
        let within = AskWithin::new(Ask(AskState::Waiting(answer, to)), to, name, limit);
        self.0 = AskState::Limited(Box::new(within));
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

/// The actor did not accept a message. Holds the message. It is `Send` and `Sync` for every message type, so that `?`
/// converts it into any boxed error.
pub struct SendError<M> {
    /// Never locked: the mutex makes the error `Sync` even if the message is not.
    message: Mutex<M>,
    reason: SendErrorReason,
}

/// Why an actor did not accept a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendErrorReason {
    /// The actor has stopped. A retry cannot help.
    #[error("the actor has stopped")]
    Stopped,
    /// The bounded mailbox is full. A retry may help; `send().await` waits for room.
    #[error("the actor's mailbox is full")]
    MailboxFull,
    /// The ref is of a keyed child that was passivated. The message needs a new child, and there are as many as their limit allows.
    /// A retry may help.
    /// Rule [18.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.10).
    #[error("there are as many keyed children as their `limit` allows")]
    TooManyChildren,
    /// The durable mailbox has not accepted the message: it cannot be encoded, or the store failed.
    /// Rule [27.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.2).
    #[cfg(feature = "durable")]
    #[error("the durable mailbox did not accept the message")]
    NotAccepted,
    /// The actor's node was given up (feature `remote`). A ref of a new association may reach the actor.
    #[error("the actor's node was given up")]
    Unreachable,
}

impl<M> SendError<M> {
    pub(crate) fn new(message: M, reason: SendErrorReason) -> Self {
        Self { message: Mutex::new(message), reason }
    }

    /// Why the actor did not accept the message.
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

// Not derived, because messages need not be `Debug`.
impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<M> std::error::Error for SendError<M> {}

/// Why an ask got no reply.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The message made the actor fail. Or another message did, while the actor held the asker's reply slot (rules 19.3, 19.4) or
    /// handled both in one batch (rule 23.2). [`Failure::during`] says in which handler it failed.
    #[error("the actor failed: {0}")]
    Failed(#[source] Failure),
    /// The actor stopped before it answered: it was stopped, or it stopped itself.
    #[error("the actor stopped before it answered")]
    Stopped,
    /// The actor stopped before it answered, because of a failure. This message did not necessarily cause it: [`Failure::during`] says
    /// in which handler or hook the actor failed. The actor could not start, its supervisor stopped it, or its restart limit was
    /// reached: [`ActorRef::end_reason`] says which.
    /// Rule [1.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-1.5).
    #[error("the actor stopped before it answered, because of a failure{place}: {0}", place = place(.0))]
    StoppedByFailure(#[source] Failure),
    /// The actor was restarted before it answered, because of another actor's failure, and lives on. Its handler was dropped at the stop
    /// timeout, so the message may have been handled in part.
    /// Rule [6.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-6.1).
    #[error("the actor was restarted before it answered, because of another actor's failure")]
    Interrupted,
    /// No answer will come: the reply slot ([`ReplyTo`]) was dropped without one.
    #[error("nobody answers: the reply slot was dropped")]
    Unanswered,
    /// The bounded mailbox had no room.
    #[error("the actor's mailbox is full")]
    MailboxFull,
    /// The ref is of a keyed child that was passivated. The message needs a new child, and there are as many as their limit allows.
    /// The message was not sent.
    /// Rule [18.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-18.10).
    #[error("there are as many keyed children as their `limit` allows")]
    TooManyChildren,
    /// No reply came in time.
    #[error("{0}")]
    Timeout(Box<AskTimeout>),
    /// A handler or hook awaited an answer of its own actor. The actor could answer only after that handler or hook returns, so
    /// the message was not sent.
    #[error("{0} asked itself: it cannot answer before the handler that awaits the answer returns")]
    AskedItself(Box<ActorPath>),
    /// Each of these actors awaits an answer of the next, in a handler or hook, and the last one would await an answer of the
    /// first. None of these answers could come, so the message was not sent. Only builds with debug assertions or with the
    /// feature `testkit` detect this. In other builds, such asks wait until a timeout ends one of them.
    /// Rule [19.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.7).
    #[error("a circle of asks: {}, and the last one would wait for the first", chain(.0))]
    AskedInCircle(Box<[ActorPath]>),
    /// The actor is suspended, and restarts or stops only after the code that asks has returned: both are declared children of one
    /// supervisor, which restarts or stops them one after another. The message waits in the mailbox and may still be handled.
    /// Rule [14.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.8).
    #[error("{0} is suspended until the code that asks it has returned")]
    HeldUp(Box<ActorPath>),
    /// The actor's circuit breaker refuses messages, because the actor is down
    /// ([`CircuitBreaker`](crate::pattern::CircuitBreaker)).
    #[error("{0}")]
    CircuitOpen(Box<CircuitOpen>),
    /// The actor's durable mailbox has not accepted the message.
    /// Rule [27.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.2).
    #[cfg(feature = "durable")]
    #[error("{0}")]
    NotAccepted(#[source] crate::durable::AcceptError),
    /// The message did not reach the actor, which lives on another node, and was not handled: it cannot travel, the actor's node
    /// does not understand it, or that node was given up before the message was sent. A retry is safe (feature `remote`,
    /// rule [26.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.6)).
    #[error("the message could not be delivered to another node, and was not handled")]
    Undeliverable,
    /// The actor's node was given up before an answer came. The message may have been handled (feature `remote`, rule 26.6).
    #[error("the connection to the actor's node was lost: the message may have been handled")]
    ConnectionLost,
}

/// A circuit breaker refuses messages while its child is down.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{breaker} refuses messages, because its child is down: try again in {retry_after:?}")]
pub struct CircuitOpen {
    /// The breaker.
    pub breaker: ActorPath,
    /// How long the child still waits for its restart. Zero while the child restarts, and while the breaker
    /// tries one message.
    pub retry_after: Duration,
}

fn place(failure: &Failure) -> String {
    failure.during().map(|during| format!(" in `{during}`")).unwrap_or_default()
}

fn chain(circle: &[ActorPath]) -> String {
    let names: Vec<_> = circle.iter().skip(1).chain(circle.first()).map(ToString::to_string).collect();
    names.join(" waits for ")
}

impl AskError {
    /// Whether the actor has stopped, whatever the reason: [`Stopped`](Self::Stopped) or
    /// [`StoppedByFailure`](Self::StoppedByFailure). A retry cannot help.
    pub fn has_stopped(&self) -> bool {
        matches!(self, Self::Stopped | Self::StoppedByFailure(_))
    }

    /// The actor's failure, if one is the reason: [`Failed`](Self::Failed) or [`StoppedByFailure`](Self::StoppedByFailure).
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) | Self::StoppedByFailure(failure) => Some(failure),
            Self::Stopped
            | Self::Interrupted
            | Self::Unanswered
            | Self::MailboxFull
            | Self::TooManyChildren
            | Self::Timeout(_)
            | Self::AskedItself(_)
            | Self::AskedInCircle(_)
            | Self::HeldUp(_)
            | Self::CircuitOpen(_)
            | Self::Undeliverable
            | Self::ConnectionLost => None,
            #[cfg(feature = "durable")]
            Self::NotAccepted(_) => None,
        }
    }
}

impl From<SendErrorReason> for AskError {
    fn from(reason: SendErrorReason) -> Self {
        match reason {
            SendErrorReason::Stopped => Self::Stopped,
            SendErrorReason::MailboxFull => Self::MailboxFull,
            SendErrorReason::TooManyChildren => Self::TooManyChildren,
            #[cfg(feature = "durable")]
            SendErrorReason::NotAccepted => Self::NotAccepted(crate::durable::AcceptError::StoreDown("".into())),
            SendErrorReason::Unreachable => Self::Undeliverable,
        }
    }
}
