//! What `#[protocol]` and `implements(..)` call.
//!
//! Rules 20.1, 20.2, 20.3.

use std::any::TypeId;
use std::marker::PhantomData;

use crate::actor::{Actor, AskError, Request, SendErrorReason};
use crate::generated::Sendable;

pub use crate::actor::Behind;

/// Method number `AT` of the protocol `Self`, a trait object. The method asks.
pub trait AsksAt<const AT: usize> {
    /// What the method returns. It implements [`Asked`]. This is not a bound, so that rustc reports a mistake
    /// only once.
    type Returned;

    /// What the method returns if no reply came.
    fn unanswered(error: AskError) -> Self::Returned;
}

/// Method number `AT` of the protocol `Self`, a trait object. The method tells.
pub trait TellsAt<const AT: usize> {
    /// What the method returns.
    type Returned: Told;
}

/// A trait with `#[protocol]`, as a trait object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a protocol, so an actor cannot say `implements(..)` of it",
    label = "this trait has no `#[protocol]`",
    note = "write `#[protocol]` above the trait, and `#[async_trait]` below that: `#[protocol] #[async_trait] trait Storage {{ .. }}`; its methods are `async fn get(&self) -> Result<T, AskError>`, or `fn put(&self) -> Result<(), supervise::SendErrorReason>` where nobody waits for an answer",
    note = "to implement any other trait for the ref, write `impl Storage for FeedRef {{ .. }}`"
)]
pub trait IsProtocol {}

/// Requires a protocol. rustc reports the error where `implements(..)` names the trait.
pub const fn protocol<P: IsProtocol + ?Sized>() {}

/// What an `async` method of a protocol may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that no answer came",
    label = "an actor may stop or fail before it answers",
    note = "return a `Result` whose error tells the caller: `Result<{Self}, AskError>`, or an error of yours that is `From<AskError>`"
)]
pub trait Asked {
    /// The error.
    type Error;

    /// The value for this error.
    fn failed(error: Self::Error) -> Self;
}

impl<T, E: FromAskError> Asked for Result<T, E> {
    type Error = E;

    fn failed(error: E) -> Self {
        Err(error)
    }
}

/// An error that can say why no answer came.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that no answer came",
    label = "an actor may stop or fail before it answers",
    note = "return `Result<_, AskError>`, or make your error `From<AskError>`, as an enum is with a variant `#[error(transparent)] NoAnswer(#[from] AskError)`"
)]
pub trait FromAskError: From<AskError> {}

#[diagnostic::do_not_recommend]
impl<E: From<AskError>> FromAskError for E {}

/// What a method of a protocol that is not `async` may return.
#[diagnostic::on_unimplemented(
    message = "a method that tells cannot return `{Self}`",
    label = "a method that is not `async` sends the message and does not wait for an answer",
    note = "return `Result<(), supervise::SendErrorReason>`, or `Result<(), E>` with an `E` that is `From<supervise::SendErrorReason>`; or make the method an `async fn` to wait for the answer"
)]
pub trait Told {
    /// The value for the outcome of the send.
    fn told(outcome: Result<(), SendErrorReason>) -> Self;
}

impl<E: FromSendErrorReason> Told for Result<(), E> {
    fn told(outcome: Result<(), SendErrorReason>) -> Self {
        outcome.map_err(E::from)
    }
}

/// An error that can say why an actor did not accept a message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that the message was not accepted",
    label = "an actor may have stopped, or its mailbox may be full",
    note = "return `Result<(), supervise::SendErrorReason>`, or make your error `From<supervise::SendErrorReason>`, as an enum is with a variant `#[error(transparent)] NotSent(#[from] supervise::SendErrorReason)`"
)]
pub trait FromSendErrorReason: From<SendErrorReason> {}

#[diagnostic::do_not_recommend]
impl<E: From<SendErrorReason>> FromSendErrorReason for E {}

/// A handler's reply that a protocol's method may turn into the `R` that it returns: the `T` of a `Result<T, E>`, or all of it.
#[diagnostic::on_unimplemented(
    message = "the handler replies with `{Self}`, but the protocol's method returns `{R}`",
    label = "this reply does not fit the protocol",
    note = "for a method that returns `Result<T, E>`, the handler returns `T`, or `Result<T, _>` whose error is a failure of the actor, or `Reply<Result<T, E>>` whose error is an answer"
)]
pub trait ReplyFor<R> {
    /// What the method returns.
    fn returned(self) -> R;
}

impl<T, E> ReplyFor<Result<T, E>> for T {
    fn returned(self) -> Result<T, E> {
        Ok(self)
    }
}

impl<T, E> ReplyFor<Result<T, E>> for Result<T, E> {
    fn returned(self) -> Result<T, E> {
        self
    }
}

/// Asks for method `AT` of the protocol `P`.
pub async fn ask_as<P, const AT: usize, A, T>(request: Request<'_, A, T>) -> P::Returned
where
    P: AsksAt<AT> + ?Sized,
    A: Actor,
    T: Sendable + ReplyFor<P::Returned>,
{
    match request.await {
        Ok(reply) => reply.returned(),
        Err(error) => P::unanswered(error),
    }
}

/// Tells for method `AT` of the protocol `P`.
pub fn tell_as<P, const AT: usize, A, T>(request: Request<'_, A, T>) -> P::Returned
where
    P: TellsAt<AT> + ?Sized,
    A: Actor,
    T: Sendable,
{
    P::Returned::told(request.tell().map_err(|refused| refused.reason()))
}

/// Picks the error of a method that got no reply: the handler's own error if it is an `E` that can be cloned, because the actor
/// keeps it too, else the conversion. Used as `(&&&Unanswered::<E>::new()).error(error)`.
#[derive(Debug)]
pub struct Unanswered<E>(PhantomData<fn() -> E>);

impl<E> Unanswered<E> {
    /// The tiers of `E`.
    #[expect(clippy::new_without_default, reason = "generated code calls it")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Tier one: errors that can be cloned.
pub trait OwnError<E> {
    /// The error.
    fn error(&self, error: AskError) -> E;
}

impl<E: From<AskError> + Clone + 'static> OwnError<E> for &&Unanswered<E> {
    fn error(&self, error: AskError) -> E {
        // If the actor failed with an `AskError`, this error is about another actor, and the caller would
        // take it to be about this one.
        let own = match &error {
            AskError::Failed(failure) if TypeId::of::<E>() != TypeId::of::<AskError>() => {
                failure.downcast_ref::<E>().cloned()
            }
            _ => None,
        };
        own.unwrap_or_else(|| error.into())
    }
}

/// Tier two: other errors.
pub trait ConvertedError<E> {
    /// The error.
    fn error(&self, error: AskError) -> E;
}

impl<E: From<AskError>> ConvertedError<E> for &Unanswered<E> {
    fn error(&self, error: AskError) -> E {
        error.into()
    }
}

/// The last tier: types that [`Asked`] has made rustc report, so this tier must not report them again.
pub trait ReportedConversion<E> {
    /// Never called.
    fn error(&self, error: AskError) -> E;
}

impl<E> ReportedConversion<E> for Unanswered<E> {
    fn error(&self, _: AskError) -> E {
        unreachable!("it does not compile")
    }
}
