//! What generated code calls. Not part of the public interface: users reach it only through the macros.
//!
//! Everything generic lives here so that what the macros emit stays small.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use crate::actor::Actor;
use crate::context::Context;
use crate::failure::Failure;
use crate::request::{self, ReplyTo};

/// Says which type a held reply slot answers with.
#[derive(Debug)]
pub struct Held<T>(PhantomData<fn() -> T>);

/// Takes the reply slot out of a message and keeps it where it survives the handler's panic or abort.
pub fn hold<A: Actor, T: Send + 'static>(ctx: &mut Context<A>, reply: ReplyTo<T>) -> Held<T> {
    ctx.hold(reply.erase());
    Held(PhantomData)
}

impl<T: Send + 'static> Held<T> {
    /// Gives the handler's reply to the asker, if there is one.
    pub fn answer<A: Actor>(self, ctx: &mut Context<A>, value: T) {
        if let Some(slot) = ctx.take_held() {
            request::answer(slot, value);
        }
    }
}

/// The two sides of a handler's `Result`, whatever alias it was written under.
pub trait ResultLike {
    /// What the handler replies.
    type Ok;
    /// What the handler fails with.
    type Err;
}

impl<T, E> ResultLike for Result<T, E> {
    type Ok = T;
    type Err = E;
}

/// A handler's future is `Send`. Wrapping the call says so at the handler's name.
pub fn handler_future<F: Future + Send>(future: F) -> F {
    future
}

/// Picks the best way to turn an error into a [`Failure`], most telling first: errors, things that can be seen as
/// errors, things that convert into one. Used as `(&&&Tier::of(&error)).failure(error)`.
#[derive(Debug)]
pub struct Tier<E>(PhantomData<fn() -> E>);

impl<E> Tier<E> {
    /// The tiers of `E`.
    pub fn of(_: &E) -> Self {
        Self(PhantomData)
    }
}

/// Tier one: errors.
pub trait AnError<E> {
    /// The failure.
    fn failure(&self, error: E) -> Failure;
}

impl<E: Error + Send + Sync + 'static> AnError<E> for &&Tier<E> {
    fn failure(&self, error: E) -> Failure {
        Failure::new(error)
    }
}

/// Tier two: boxed errors, `anyhow::Error`.
pub trait ErrorLike<E> {
    /// The failure.
    fn failure(&self, error: E) -> Failure;
}

impl<E> ErrorLike<E> for &Tier<E>
where
    E: fmt::Display + AsRef<dyn Error + Send + Sync> + Send + Sync + 'static,
{
    fn failure(&self, error: E) -> Failure {
        Failure::error_like(error)
    }
}

/// Tier three: whatever converts into a boxed error.
pub trait IntoError<E> {
    /// The failure.
    fn failure(&self, error: E) -> Failure;
}

impl<E> IntoError<E> for Tier<E>
where
    E: fmt::Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
{
    fn failure(&self, error: E) -> Failure {
        Failure::other(error)
    }
}
