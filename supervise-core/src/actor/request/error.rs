//! Why a message was not accepted, and why an ask got no reply.
//!
//! Rules 1.5 and 1.7.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::AskTimeout;
use crate::base::ActorPath;
use crate::failure::{Failure, debug_in_one_line};

/// The actor did not accept a message. Holds the message. It is `Send` and `Sync` for every message type, so that `?`
/// converts it into any boxed error.
pub struct SendError<M> {
    /// Never locked: the mutex makes the error `Sync` even if the message is not.
    message: Mutex<M>,
    reason: SendErrorReason,
}

/// Why an actor did not accept a message.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
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

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)
    }
}

impl<M> std::error::Error for SendError<M> {}

/// Why an ask got no reply.
///
/// # Passing it on
///
/// If rustc says that `From<AskError>` is not implemented for your error (E0277), `?` meets an ask in a function that returns this error.
/// Give the error a variant for it:
///
/// ```
/// # extern crate supervise_core as supervise;
/// use supervise::AskError;
///
/// #[derive(Debug, thiserror::Error)]
/// enum CheckoutError {
///     #[error("the cart is empty")]
///     EmptyCart,
///     #[error("no answer from the payments")]
///     NoAnswer(#[from] AskError),
/// }
///
/// fn receipt(cents: u64, charged: Result<u64, AskError>) -> Result<String, CheckoutError> {
///     if cents == 0 {
///         return Err(CheckoutError::EmptyCart);
///     }
///     Ok(format!("{} cents", charged?))
/// }
/// # assert!(matches!(receipt(1, Err(AskError::Stopped)), Err(CheckoutError::NoAnswer(_))));
/// ```
///
/// # The error of the handler
///
/// The error of a handler fails its actor, so the asker gets an `AskError` around it. If rustc expects an `AskError` where you match the
/// error of the handler (E0308), look inside:
///
/// ```
/// # extern crate supervise_core as supervise;
/// use supervise::AskError;
/// # use supervise::Failure;
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("no key {0}")]
/// struct Missing(String);
///
/// fn found(answer: Result<u64, AskError>) -> Result<Option<u64>, AskError> {
///     match answer {
///         Ok(value) => Ok(Some(value)),
///         Err(error) => match error.failure().and_then(|failure| failure.downcast_ref::<Missing>()) {
///             Some(_) => Ok(None),
///             None => Err(error),
///         },
///     }
/// }
/// # assert!(matches!(found(Err(AskError::Failed(Failure::new(Missing("a".to_owned()))))), Ok(None)));
/// # assert!(matches!(found(Err(AskError::Stopped)), Err(AskError::Stopped)));
/// ```
///
/// If the error is an answer rather than a failure, let the handler return `Reply<Result<u64, Missing>>`. Its actor then does not fail, and the
/// asker gets a `Result<Result<u64, Missing>, AskError>`.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The message made the actor fail, or another message did while the actor held the asker's reply slot (rules
    /// [19.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.3),
    /// [19.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.4)) or handled
    /// both in one batch (rule
    /// [23.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.2)).
    /// [`Failure::during`] says in which handler it failed.
    #[error("the actor failed: {0}")]
    Failed(#[source] Failure),
    /// The actor stopped before it answered: it was stopped, or it stopped itself.
    #[error("the actor stopped before it answered")]
    Stopped,
    /// The actor stopped before it answered, because of a failure. This message did not necessarily cause it: [`Failure::during`] says
    /// in which handler or hook the actor failed. The actor could not start, its supervisor stopped it, or its restart limit was
    /// reached: [`ActorRef::end_reason`](crate::ActorRef::end_reason) says which.
    /// Rule [1.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-1.5).
    #[error("the actor stopped before it answered, because of a failure{place}: {0}", place = place(.0))]
    StoppedByFailure(#[source] Failure),
    /// The actor was restarted before it answered, because of another actor's failure, and lives on. Its handler was dropped at the stop
    /// timeout, so the message may have been handled in part.
    /// Rule [6.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-6.1).
    #[error("the actor was restarted before it answered, because of another actor's failure")]
    Interrupted,
    /// No answer will come: the reply slot ([`ReplyTo`](crate::ReplyTo)) was dropped without one.
    #[error("no answer will come: the reply slot was dropped")]
    Unanswered,
    /// The bounded mailbox had no room. [`Request::when_room`](crate::Request::when_room) waits for room.
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
    #[error(
        "{0} asked itself: it cannot answer before the handler that awaits the answer returns; call the method on `self`, or send \
         with `.tell()`"
    )]
    AskedItself(Box<ActorPath>),
    /// Each of these actors awaits an answer of the next, in a handler or hook, and the last one would await an answer of the
    /// first. None of these answers could come, so the message was not sent. Only builds with debug assertions or with the
    /// feature `testkit` detect this. In other builds, such asks wait until a timeout ends one of them.
    /// Rule [19.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.7).
    #[error("a circle of asks: {}, and the last one would wait for the first", chain(.0))]
    AskedInCircle(Box<[ActorPath]>),
    /// The actor restarts or stops only after the code that asks has returned. That code belongs to an actor below it, or to a declared child
    /// that restarts or stops before it (or to an actor below that child). The message waits in the mailbox and may still be handled.
    /// Rule [14.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.8).
    #[error("{0} cannot answer before the code that asks it has returned")]
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
    /// The actor's node was given up before an answer came. The message may have been handled (feature `remote`,
    /// rule [26.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.6)).
    #[error("the connection to the actor's node was lost: the message may have been handled")]
    ConnectionLost,
}

debug_in_one_line!(AskError, SendErrorReason);

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
            SendErrorReason::NotAccepted => Self::NotAccepted(crate::durable::AcceptError::StoreDown(
                "the reason was told to the sender".into(),
            )),
            SendErrorReason::Unreachable => Self::Undeliverable,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot connect")]
    struct NoConnection(#[source] std::fmt::Error);

    /// `main` prints the `Debug` of the error that it returns.
    #[test]
    fn debug_is_the_text_with_its_causes_in_one_line() {
        let shown = |error: AskError| format!("{error:?}");
        let cause = std::fmt::Error.to_string();
        let failure = Failure::new(NoConnection(std::fmt::Error));
        assert_eq!(format!("{failure:?}"), format!("cannot connect: {cause}"));
        failure.escalated(|| "supervise://demo/user/reader".parse().expect("a path"));
        assert_eq!(format!("{failure:?}"), format!("cannot connect: {cause} (in supervise://demo/user/reader)"));
        assert_eq!(shown(AskError::Failed(failure)), format!("the actor failed: cannot connect: {cause}"));
        assert_eq!(shown(AskError::Failed(Failure::other("two\nlines"))), "the actor failed: two\\nlines");
        assert_eq!(shown(AskError::MailboxFull), "the actor's mailbox is full");
        assert_eq!(format!("{:?}", SendError::new((), SendErrorReason::Stopped)), "the actor has stopped");
    }

    #[test]
    fn the_source_of_an_ask_error_is_the_failure_behind_it() {
        let source = |error: AskError| error.source().map(ToString::to_string);
        assert_eq!(source(AskError::Failed(Failure::other("lost"))).as_deref(), Some("lost"));
        assert_eq!(source(AskError::StoppedByFailure(Failure::other("lost"))).as_deref(), Some("lost"));
        assert_eq!(source(AskError::Stopped), None);
    }
}
