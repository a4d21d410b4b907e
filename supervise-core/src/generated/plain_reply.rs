//! Looks behind the name of a handler's return type: a `Result` under another name, or a future that may become one, would hide its
//! error from the parent's table.
//!
//! Used as `(&Probe::<T>::NEW).__plain()`. Method resolution finds the first of: the methods of a probe of a `Result`, the
//! method for futures, and the method for any type.

use std::future::Future;
use std::marker::PhantomData;

/// A handler's return type.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// The probe.
    pub const NEW: Self = Self(PhantomData);
}

impl<T, E> Probe<Result<T, E>> {
    /// It is a `Result`.
    #[rustfmt::skip] // rustc quotes the line
    pub fn __plain(&self) where Result<T, E>: NotAResult {}
}

impl<T, E> Probe<Option<Result<T, E>>> {
    /// It holds a `Result`.
    #[rustfmt::skip] // rustc quotes the line
    pub fn __plain(&self) where Option<Result<T, E>>: NoResultInside {}
}

/// The answer for futures.
pub trait FutureKind<F> {
    /// It is a future.
    #[rustfmt::skip] // rustc quotes the line
    fn __plain(&self) where F: NotAFuture {}
}

impl<F: Future> FutureKind<F> for Probe<F> {}

/// The answer for every other type.
pub trait PlainKind {
    /// It is a plain value.
    fn __plain(&self) {}
}

impl<T> PlainKind for &Probe<T> {}

/// Not a `Result`. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "this handler returns a `Result` under another name",
    label = "does an error fail the actor, or is it the answer?",
    note = "if the actor's parent should decide about the error, by its rules, write the type as `Result<..>`",
    note = "if the caller should get the error, and the actor goes on, return `Reply<..>`: write `Reply(value)` for each value that the handler returns"
)]
pub trait NotAResult {}

/// Not a `Result` in an `Option`. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "this handler's reply contains a `Result` whose error does not fail the actor",
    label = "does an error fail the actor, or is it the answer?",
    note = "if the actor's parent should decide about the error, by its rules, return `Result<Option<..>, E>`",
    note = "if the caller should get the error, and the actor goes on, return `Reply<Option<..>>`: write `Reply(value)` for each value that the handler returns"
)]
pub trait NoResultInside {}

/// Not a future. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "this handler replies with a future, which the actor does not await",
    label = "an error in this future would fail nobody",
    note = "if the actor should wait, and fail with the future's error: write `async fn`, return the `Result<..>` that the future gives, and `.await` the future in the handler (a `JoinHandle` gives that `Result` in another one, whose `JoinError` says that the task panicked)",
    note = "if the caller should get the future and await it: return `Reply<..>`, and write `Reply(future)` for the value"
)]
pub trait NotAFuture {}
