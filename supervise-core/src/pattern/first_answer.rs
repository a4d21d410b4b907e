//! The first of several answers.
//!
//! Rule 21.6.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use crate::actor::{Actor, Ask, AskError, Request};

/// Asks several actors of one kind the same thing, and completes with the first answer. An ask that fails is ignored, unless
/// all of them fail: then the result is the last error.
///
/// ```
/// # extern crate supervise_core as supervise;
/// use supervise::pattern::first_answer;
/// # use supervise::{Actor, ActorRef, ActorSystem, Context, Failure, ReplyTo, Request, Supervisor};
/// # use supervise::{EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy};
/// # struct Mirror;
/// # struct Fetch(ReplyTo<u32>);
/// # impl Supervisor for Mirror { type Ref = ActorRef<Self>; }
/// # impl Actor for Mirror {
/// #     type Message = Fetch;
/// #     async fn handle(&mut self, Fetch(reply): Fetch, _: &mut Context<Self>) -> Result<(), Failure> {
/// #         reply.answer(7);
/// #         Ok(())
/// #     }
/// # }
/// # impl<P> HandlersOfOneImplBlockDecidedBy<P> for Mirror {}
/// # impl<P> EscalationsDecidedBy<P> for Mirror {}
/// # fn fetch(to: &ActorRef<Mirror>) -> Request<'_, Mirror, u32> {
/// #     Request::new(to, Fetch(ReplyTo::nowhere()), |message, reply| message.0 = reply)
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let system = ActorSystem::new("web");
/// let mirrors = [system.spawn("a", || Mirror)?, system.spawn("b", || Mirror)?];
/// assert_eq!(first_answer(mirrors.iter().map(fetch)).await?, 7);
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
///
/// The later answers are dropped: the other actors still handle their messages. For a time limit, put `tokio::time::timeout`
/// around the future.
///
/// # Errors
///
/// The last error, if none answered. [`AskError::Stopped`] if there are no requests.
///
/// # Cancel safety
///
/// If the future is dropped before it was polled, nothing was sent. If it is dropped later, the handlers still run and their replies are
/// dropped.
pub fn first_answer<'a, A: Actor, T: Send + 'static>(
    requests: impl IntoIterator<Item = Request<'a, A, T>>,
) -> FirstAnswer<'a, A, T> {
    FirstAnswer { asks: requests.into_iter().map(Request::into_future).collect(), last: AskError::Stopped }
}

/// The future of [`first_answer`].
#[must_use = "futures do nothing unless awaited"]
pub struct FirstAnswer<'a, A: Actor, T> {
    /// Those that have not failed.
    asks: Vec<Ask<'a, A, T>>,
    last: AskError,
}

impl<A: Actor, T: Send + 'static> Future for FirstAnswer<'_, A, T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let mut at = 0;
        while let Some(ask) = self.asks.get_mut(at) {
            match Pin::new(ask).poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(Ok(answer)) => {
                    self.asks.clear();
                    return Poll::Ready(Ok(answer));
                }
                Poll::Ready(Err(error)) => {
                    drop(self.asks.swap_remove(at));
                    self.last = error;
                }
            }
        }
        if self.asks.is_empty() { Poll::Ready(Err(self.last.clone())) } else { Poll::Pending }
    }
}

impl<A: Actor, T> fmt::Debug for FirstAnswer<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstAnswer").field("asks", &self.asks.len()).finish_non_exhaustive()
    }
}
