//! An ask that waits for room in a bounded mailbox.
//!
//! Rules 1.6 and 19.10.

use std::fmt;
use std::future::{IntoFuture, poll_fn};
use std::task::Poll;
use std::time::Duration;

use super::{Ask, AskError, AskState, AskWithin, BoxedAsk, Request, asked_in_vain};
use crate::actor::definition::Actor;
#[cfg(feature = "durable")]
use crate::actor::stored;
use crate::actor::waits_for;
use crate::base::drop_contained;

/// An ask that waits for room in a bounded mailbox, see [`Request::when_room`].
#[must_use = "nothing has been sent yet: `.await` it, as in `r.fetch(id).when_room().await` (`let _ =` alone sends nothing)"]
pub struct WhenRoom<'a, A: Actor, T, K>(Request<'a, A, T, K>);

impl<'a, A: Actor, T: Send + 'static, K> Request<'a, A, T, K> {
    /// Asks when there is room: `.await` waits for room in a bounded mailbox, as [`send`](Self::send) does, and then for the reply.
    /// A time limit counts both waits. Rule
    /// [19.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-19.10).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use supervise_core::{Actor, AskError, Request};
    /// # async fn asks<A: Actor>(set: impl Fn(&str) -> Request<'static, A, u32>) -> Result<(), AskError> {
    /// let reply = set("a").when_room().await?;
    /// let in_time = set("b").when_room().timeout(Duration::from_secs(1)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped while it waits for room, nothing was sent, and the asker loses its place in the queue. If it is dropped
    /// later, the handler still runs and its reply is dropped.
    pub fn when_room(self) -> WhenRoom<'a, A, T, K> {
        WhenRoom(self)
    }
}

impl<'a, A: Actor, T: Send + 'static, K> WhenRoom<'a, A, T, K> {
    /// Gives up after `limit`, which counts the wait for room and the wait for the reply. See [`Request::timeout`].
    ///
    /// # Panics
    ///
    /// If it is first polled in a tokio runtime without timers.
    pub fn timeout(self, limit: Duration) -> AskWithin<'a, A, T> {
        let (to, message) = (self.0.to, A::message_name(&self.0.message));
        AskWithin::new(self.unlimited(), to, message, limit)
    }

    fn unlimited(self) -> Ask<'a, A, T> {
        Ask(AskState::Boxed(asked_when_room(self.0.of_any_kind())))
    }
}

impl<'a, A: Actor, T: Send + 'static, K> IntoFuture for WhenRoom<'a, A, T, K> {
    type Output = Result<T, AskError>;
    type IntoFuture = Ask<'a, A, T>;

    fn into_future(self) -> Ask<'a, A, T> {
        match self.0.to.core().ask_timeout() {
            None => self.unlimited(),
            Some(limit) => Ask(AskState::Boxed(Box::pin(self.timeout(limit)))),
        }
    }
}

/// The slot is in the message from the first poll on, so that a circle of asks is found while the asker waits for room.
fn asked_when_room<A: Actor, T: Send + 'static>(mut request: Request<'_, A, T>) -> BoxedAsk<'_, T> {
    Box::pin(async move {
        let to = request.to;
        let asker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
        if to.is_woken_by(&asker) {
            drop_contained(request.message);
            return Err(AskError::AskedItself(Box::new(to.path())));
        }
        let mut answer = request.attach(None, waits_for::asked_by(&asker));
        drop(asker);
        if let Err(circle) = answer.is_awaited(to) {
            drop_contained(request.message);
            return Err(AskError::AskedInCircle(circle));
        }
        #[cfg(feature = "durable")]
        if const { A::DURABLE.is_some() } {
            return stored::asked(to, request.message, answer, None, true).await;
        }
        to.ask_when_room(request.message).await.map_err(|refused| asked_in_vain(to, refused))?;
        poll_fn(|cx| answer.poll_unless_held_up(to, cx)).await
    })
}

impl<A: Actor, T, K> fmt::Debug for WhenRoom<'_, A, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WhenRoom").field(&self.0).finish()
    }
}
