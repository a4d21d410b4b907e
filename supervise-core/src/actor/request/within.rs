//! An ask with a timeout, and the text of its error.
//!
//! Rules 1.5 and 19.6.

mod found;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::runtime::Handle;

use self::found::Found;
use super::{Ask, AskError};
use crate::actor::actor_ref::ActorRef;
use crate::actor::definition::Actor;
use crate::base::ActorPath;

/// An ask with a timeout, see [`Request::timeout`](super::Request::timeout).
///
/// # Cancel safety
///
/// If it is dropped before the first poll, nothing was sent. If it is dropped later, the handler still runs
/// and its reply is dropped.
#[must_use = "futures do nothing unless awaited"]
pub struct AskWithin<'a, A: Actor, T> {
    ask: Ask<'a, A, T>,
    to: &'a ActorRef<A>,
    message: &'static str,
    limit: Duration,
    /// Made at the first poll, when the time begins to count.
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    /// Whether it was first polled outside a runtime, so that the time is that of the actor's system.
    is_outside: bool,
}

impl<'a, A: Actor, T> AskWithin<'a, A, T> {
    pub(super) fn new(ask: Ask<'a, A, T>, to: &'a ActorRef<A>, message: &'static str, limit: Duration) -> Self {
        Self { ask, to, message, limit, sleep: None, is_outside: false }
    }
}

impl<A: Actor, T: Send + 'static> Future for AskWithin<'_, A, T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(answer) = self.ask.poll_unlimited(cx) {
            return Poll::Ready(answer);
        }
        let limit = self.limit;
        let to = self.to;
        if self.is_outside && to.core().system.dispatcher().has_gone() {
            // A runtime that is gone has no clock.
            return Poll::Ready(Err(AskError::Stopped));
        }
        if self.sleep.is_none() {
            self.is_outside = Handle::try_current().is_err();
            let _inside = self.is_outside.then(|| to.core().system.runtime().enter());
            self.sleep = Some(Box::pin(tokio::time::sleep(limit)));
        }
        let Some(sleep) = &mut self.sleep else { unreachable!("it was made a line above") };
        sleep.as_mut().poll(cx).map(|()| {
            self.ask.give_up();
            Err(AskError::Timeout(Box::new(AskTimeout {
                limit,
                actor: self.to.path(),
                message: self.message,
                found: Found::of(self.to),
            })))
        })
    }
}

impl<A: Actor, T> fmt::Debug for AskWithin<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskWithin").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// An ask got no reply in time. Says which actor was asked, which message was sent, and what the actor was
/// doing when the time was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskTimeout {
    limit: Duration,
    actor: ActorPath,
    message: &'static str,
    found: Found,
}

impl AskTimeout {
    /// How long the asker waited.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// The actor that was asked.
    pub fn actor(&self) -> &ActorPath {
        &self.actor
    }

    /// The name of the message.
    pub fn message(&self) -> &'static str {
        self.message
    }
}

impl fmt::Display for AskTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, actor, message, found } = self;
        write!(f, "no answer to `{message}` from {actor} within {limit:?}: {found}")
    }
}
