//! What the compiler says where a future is expected and a request is given.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use super::{AskError, Request};
use crate::actor::definition::Actor;

/// The bound of a request as a future, which nothing satisfies: its message is the hint for `tokio::spawn(r.fetch(id))`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a request is not a future: it becomes one by `.await`",
    label = "this request is not awaited",
    note = "for `r.fetch(id)` write `async {{ r.fetch(id).await }}`; for a task, let the block own a clone of the ref: `let r = r.clone(); tokio::spawn(async move {{ r.fetch(id).await }})`",
    note = "in a handler with the parameter `ctx: &mut Context<Self>`, `ctx.pipe(async move {{ r.fetch(id).await }}, |me, reply| me.fetched(reply))` sends the reply to this actor as a message"
)]
pub trait AwaitedInAnAsyncBlock {}

#[doc(hidden)]
impl<A: Actor, T: Send + 'static> Future for Request<'_, A, T>
where
    Self: AwaitedInAnAsyncBlock,
{
    type Output = Result<T, AskError>;

    fn poll(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Self::Output> {
        unreachable!("nothing satisfies the bound")
    }
}
