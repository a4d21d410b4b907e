//! Handing messages over to the store.
//!
//! Rules 27.1, 27.2, 27.3 and 27.18.

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::SystemTime;

use tokio::sync::oneshot;

use super::recipient::Copy;
use crate::actor::actor_ref::ActorRef;
use crate::actor::definition::{Actor, Durable};
use crate::actor::reply::{Answer, drop_because};
use crate::actor::request::{AskError, Request, SendError, SendErrorReason, asked_in_vain};
use crate::base::{contained, drop_contained};
use crate::durable::fields::Encoded;
use crate::durable::{AcceptError, Copied, HandedOver, Held, Outlet, Receipt};
use crate::failure::Failure;
use crate::observe::{DeadLetterReason, Lost};

/// How a message reaches a durable actor.
enum Way {
    /// It is stored first.
    Stored(Arc<Outlet>, Encoded),
    /// It goes into the lane: its handler is transient, or a pattern stands in for the actor.
    Transient,
}

/// A message as it is stored. `None`: its handler is transient.
pub(super) fn encoded<A: Actor>(message: &A::Message) -> Result<Option<Encoded>, AcceptError> {
    let refused = |text: String| AcceptError::NotEncodable(text.into());
    match contained(|| A::encode(message)) {
        Ok(Ok(encoded)) => encoded.map(Encoded::checked).transpose().map_err(|error| refused(error.to_string())),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Err(payload) => Err(refused(Failure::panic(payload).to_string())),
    }
}

impl<A: Actor> ActorRef<A> {
    /// Encodes a message on its sender's stack.
    fn way(&self, message: &A::Message) -> Result<Way, AcceptError> {
        let Some(outlet) = self.core().outlet() else { return Ok(Way::Transient) };
        match encoded::<A>(message)? {
            None => Ok(Way::Transient),
            Some(_) if outlet.refuses() => Err(AcceptError::Stopped),
            Some(encoded) => Ok(Way::Stored(Arc::clone(outlet), encoded)),
        }
    }

    /// Tells a durable actor, or asks it without waiting for acceptance.
    #[cold]
    pub(in crate::actor) fn tell_stored(&self, message: A::Message) -> Result<(), SendError<A::Message>> {
        self.tell_keyed(message, None)
    }

    fn tell_keyed(&self, message: A::Message, key: Option<String>) -> Result<(), SendError<A::Message>> {
        let way = self.way(&message);
        self.tell_on(way, message, key)
    }

    fn tell_on(
        &self,
        way: Result<Way, AcceptError>,
        message: A::Message,
        key: Option<String>,
    ) -> Result<(), SendError<A::Message>> {
        match way {
            Ok(Way::Transient) => self.push(message),
            Ok(Way::Stored(outlet, encoded)) => {
                let order = HandOver { is_told: true, key, ..HandOver::new(self, outlet, encoded, message) };
                order.at_once().map_err(|message| SendError::new(message, SendErrorReason::MailboxFull))
            }
            Err(AcceptError::Stopped) => Err(self.tells_nobody(message)),
            Err(_) => Err(SendError::new(message, SendErrorReason::NotAccepted)),
        }
    }

    /// The error for a message that is told to an actor which takes no more.
    fn tells_nobody(&self, message: A::Message) -> SendError<A::Message> {
        self.core().lost(Lost::new(A::message_name(&message), DeadLetterReason::Stopped, false));
        SendError::new(message, SendErrorReason::Stopped)
    }

    /// Tells a durable actor a message with the slot of another one's asker.
    #[cold]
    pub(in crate::actor) fn reply_to_stored(&self, message: A::Message) {
        let way = self.way(&message);
        let why = way.as_ref().err().filter(|why| **why != AcceptError::Stopped).cloned();
        if let Err(refused) = self.tell_on(way, message, None) {
            let why = why.map_or_else(|| refused.reason().into(), AskError::NotAccepted);
            drop_because(why, refused.into_message());
        }
    }
}

/// A message that is to be stored.
struct HandOver<'a, A: Actor> {
    to: &'a ActorRef<A>,
    outlet: Arc<Outlet>,
    kind: &'static str,
    body: Arc<[u8]>,
    message: A::Message,
    key: Option<String>,
    receipt: Option<Receipt>,
    is_told: bool,
}

impl<'a, A: Actor> HandOver<'a, A> {
    fn new(to: &'a ActorRef<A>, outlet: Arc<Outlet>, encoded: Encoded, message: A::Message) -> Self {
        let Encoded { kind, body } = encoded;
        Self { to, outlet, kind, body: body.into(), message, key: None, receipt: None, is_told: false }
    }

    fn into_handed_over(self) -> HandedOver {
        let Self { to, outlet, kind, body, message, key, receipt, is_told } = self;
        let held = Held::new(Box::new(Copy { message, to: to.clone(), is_told }), receipt);
        let key = key.map(Into::into);
        HandedOver { outlet, owner: None, kind, body, accepted_at: SystemTime::now(), key, held, is_told }
    }

    /// Hands the message over to the store now, or returns the message as the error if the store has no room for it.
    fn at_once(self) -> Result<(), A::Message> {
        let outlet = Arc::clone(&self.outlet);
        outlet.inbox.hand_over(self.into_handed_over()).map_err(|refused| {
            match refused.held.back().and_then(Copy::<A>::message_of) {
                Some(message) => message,
                None => unreachable!("it was made a few lines above"),
            }
        })
    }

    /// Waits until the message is durable. The error has the message, unless the writer has gone with its runtime.
    async fn stored(mut self) -> Result<(), (AcceptError, Option<A::Message>)> {
        let (receipt, stored) = oneshot::channel();
        self.receipt = Some(receipt);
        let back = |(why, copy): (AcceptError, Box<dyn Copied>)| (why, Copy::<A>::message_of(copy));
        if let Err((why, refused)) = self.when_room().await {
            return Err((why, refused.held.back().and_then(Copy::<A>::message_of)));
        }
        // If the store does not accept the message, dropping it sends it back here.
        stored.await.map_or_else(|_| Err((AcceptError::Stopped, None)), |stored| stored.map_err(back))
    }

    /// Hands the message over when there is room.
    async fn when_room(self) -> Result<(), (AcceptError, HandedOver)> {
        when_room(self.into_handed_over()).await
    }
}

/// Hands a message over when there is room.
pub(super) async fn when_room(handed_over: HandedOver) -> Result<(), (AcceptError, HandedOver)> {
    let outlet = Arc::clone(&handed_over.outlet);
    until_handed_over(&outlet, handed_over, |handed_over| outlet.inbox.hand_over(handed_over)).await
}

/// Tries to hand something over whenever there may be room. Between two attempts it is as it was before.
async fn until_handed_over<T>(
    outlet: &Outlet,
    mut waits: T,
    hand_over: impl Fn(T) -> Result<(), T>,
) -> Result<(), (AcceptError, T)> {
    if !outlet.refuses() {
        // In most cases there is room, and nothing to wait for.
        match hand_over(waits) {
            Ok(()) => return Ok(()),
            Err(back) => waits = back,
        }
    }
    loop {
        // Both waits begin before the attempt. Otherwise room that is made in between would go unnoticed.
        let (mut fewer, mut smaller) = (pin!(outlet.has_room()), pin!(outlet.inbox.has_room()));
        fewer.as_mut().enable();
        smaller.as_mut().enable();
        if outlet.refuses() {
            return Err((AcceptError::Stopped, waits));
        }
        match hand_over(waits) {
            Ok(()) => return Ok(()),
            Err(back) => waits = back,
        }
        poll_fn(|cx| {
            let fewer = fewer.as_mut().poll(cx).is_ready();
            if smaller.as_mut().poll(cx).is_ready() || fewer { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Hands a message over and waits until it is durable. A transient message is sent.
async fn accepted<A: Actor>(
    to: &ActorRef<A>,
    message: A::Message,
    key: Option<String>,
) -> Result<(), AcceptError> {
    match to.way(&message)? {
        Way::Transient => {
            let text = "this ref belongs to a pattern or a message that is not stored";
            drop(message);
            Err(AcceptError::StoreDown(text.into()))
        }
        Way::Stored(outlet, encoded) => {
            let order = HandOver { key, ..HandOver::new(to, outlet, encoded, message) };
            order.stored().await.map_err(|(why, message)| {
                drop_contained(message);
                why
            })
        }
    }
}

impl<'a, A: Durable + Actor, T: Send + 'static> Request<'a, A, T> {
    /// Stores the message, and completes when it is durable: it will be handled, whatever happens to this process. Waits for room
    /// if the mailbox is full. Does not wait for the handler.
    /// Rule [27.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.1).
    ///
    /// # Errors
    ///
    /// If the message was not accepted, see [`AcceptError`]. After `Unknown`, send it again with the same [key](Self::key).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before its first poll, nothing was sent. If it is dropped later, the message may be stored.
    pub async fn accepted(self) -> Result<(), AcceptError> {
        accepted(self.to, self.message, None).await
    }

    /// Gives the message a key. A message with the key of one that waits, or that was accepted in the last 10 minutes, is accepted and
    /// not stored again, so it is safe to send it again.
    /// Rule [27.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.2).
    pub fn key(self, key: impl Into<String>) -> Keyed<'a, A, T> {
        Keyed { request: self, key: key.into() }
    }
}

/// A request whose message has a key, see [`Request::key`].
///
/// `.await` asks. If the message is known, its asker gets [`AskError::Unanswered`](crate::AskError::Unanswered): the reply went to
/// the first one.
#[must_use = "nothing has been sent yet: `.accepted().await` stores it, `.tell()` hands it over, `.await` asks (`let _ =` alone sends nothing)"]
pub struct Keyed<'a, A: Actor, T> {
    request: Request<'a, A, T>,
    key: String,
}

impl<A: Durable + Actor, T: Send + 'static> Keyed<'_, A, T> {
    /// Stores the message unless it is known, and completes when it is durable. See [`Request::accepted`].
    ///
    /// # Errors
    ///
    /// If the message was not accepted.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before its first poll, nothing was sent. If it is dropped later, the message may be stored.
    pub async fn accepted(self) -> Result<(), AcceptError> {
        accepted(self.request.to, self.request.message, Some(self.key)).await
    }

    /// Hands the message over without waiting for anything. Unless it is known, it is stored with the next group. See
    /// [`Request::tell`].
    ///
    /// # Errors
    ///
    /// As [`Request::tell`].
    pub fn tell(self) -> Result<(), SendError<A::Message>> {
        self.request.to.tell_keyed(self.request.message, Some(self.key))
    }
}

impl<'a, A: Durable + Actor, T: Send + 'static> IntoFuture for Keyed<'a, A, T> {
    type Output = Result<T, AskError>;
    type IntoFuture = Asking<'a, T>;

    fn into_future(self) -> Self::IntoFuture {
        self.request.ask_keyed(self.key)
    }
}

impl<A: Actor, T> fmt::Debug for Keyed<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed").field("request", &self.request).field("key", &self.key).finish()
    }
}

/// An ask of a durable actor: its message is stored, then it waits for the answer.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T, AskError>> + Send + 'a>>;

pub(in crate::actor) fn asking<A: Actor, T: Send + 'static>(
    to: &ActorRef<A>,
    message: A::Message,
    answer: Answer<T>,
    key: Option<String>,
) -> Asking<'_, T> {
    Box::pin(asked(to, message, answer, key, false))
}

/// Asks a durable actor. An ask whose message is stored waits for room in any case; others do if they are sent `when_room`.
pub(in crate::actor) async fn asked<A: Actor, T: Send + 'static>(
    to: &ActorRef<A>,
    message: A::Message,
    answer: Answer<T>,
    key: Option<String>,
    when_room: bool,
) -> Result<T, AskError> {
    match to.way(&message) {
        Ok(Way::Transient) => {
            let sent = if when_room { to.ask_when_room(message).await } else { to.push(message) };
            sent.map_err(|refused| asked_in_vain(to, refused))?;
        }
        Ok(Way::Stored(outlet, encoded)) => {
            let order = HandOver { key, ..HandOver::new(to, outlet, encoded, message) };
            if let Err((why, handed_over)) = order.when_room().await {
                handed_over.held.refuse(&why);
            }
        }
        Err(why) => {
            drop_contained(message);
            return Err(match why {
                AcceptError::Stopped => to.core().end_reason().into_ask_error(),
                why => AskError::NotAccepted(why),
            });
        }
    }
    answer.await
}

/// Tells a durable actor when there is room. If this is dropped first, the message is dropped and nothing is stored.
#[cfg(feature = "remote")]
pub(in crate::actor) async fn tell_when_room<A: Actor>(
    to: &ActorRef<A>,
    message: A::Message,
) -> Result<(), SendError<A::Message>> {
    match to.way(&message) {
        Ok(Way::Transient) => to.push_when_room(message).await,
        Ok(Way::Stored(outlet, Encoded { kind, body })) => {
            let body: Arc<[u8]> = body.into();
            let attempt = |message| {
                let (outlet, body) = (Arc::clone(&outlet), Arc::clone(&body));
                HandOver { to, outlet, kind, body, message, key: None, receipt: None, is_told: true }.at_once()
            };
            until_handed_over(&outlet, message, attempt).await.map_err(|(_, message)| to.tells_nobody(message))
        }
        Err(AcceptError::Stopped) => Err(to.tells_nobody(message)),
        Err(_) => Err(SendError::new(message, SendErrorReason::NotAccepted)),
    }
}

/// A message on its way to the store, for [`Request::send`].
type Sending<'a, M> = Pin<Box<dyn Future<Output = Result<(), SendError<M>>> + Send + 'a>>;

/// Stores the message that [`Request::send`] sends. `sending` is set by the first poll.
pub(in crate::actor) fn poll_send<'a, A: Actor>(
    to: &'a ActorRef<A>,
    message: &mut Option<Cell<A::Message>>,
    sending: &mut Option<Sending<'a, A::Message>>,
    cx: &mut TaskContext<'_>,
) -> Poll<Result<(), SendError<A::Message>>> {
    if let Some(message) = message.take() {
        *sending = Some(Box::pin(send_stored(to, message.into_inner())));
    }
    match sending {
        Some(sending) => sending.as_mut().poll(cx),
        None => unreachable!("a send was polled after it had completed"),
    }
}

async fn send_stored<A: Actor>(to: &ActorRef<A>, message: A::Message) -> Result<(), SendError<A::Message>> {
    let refused = |message, why: &AcceptError| {
        let reason = match why {
            AcceptError::Stopped => SendErrorReason::Stopped,
            _ => SendErrorReason::NotAccepted,
        };
        Err(SendError::new(message, reason))
    };
    match to.way(&message) {
        Ok(Way::Transient) => to.push_when_room(message).await,
        Ok(Way::Stored(outlet, encoded)) => match HandOver::new(to, outlet, encoded, message).stored().await {
            Ok(()) => Ok(()),
            Err((why, Some(message))) => refused(message, &why),
            Err((_, None)) => unreachable!("a message that is not stored comes back"),
        },
        Err(why) => refused(message, &why),
    }
}
