//! An ask with a timeout, and the text of its error.
//!
//! Rules 1.5 and 19.6.

mod activity;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::runtime::Handle;

use self::activity::RecipientActivity;
use super::{Ask, AskError};
use crate::actor::actor_ref::{ActorRef, AnyActorRef};
use crate::actor::cell::Core;
use crate::actor::definition::Actor;
use crate::actor::description::ActorType;
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
    clock: Clock,
}

impl<'a, A: Actor, T> AskWithin<'a, A, T> {
    pub(super) fn new(ask: Ask<'a, A, T>, to: &'a ActorRef<A>, message: &'static str, limit: Duration) -> Self {
        Self { ask, to, message, clock: Clock { limit, sleep: None, is_outside: false } }
    }
}

impl<A: Actor, T: Send + 'static> Future for AskWithin<'_, A, T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(answer) = self.ask.poll_unlimited(cx) {
            return Poll::Ready(answer);
        }
        let (to, message) = (self.to, self.message);
        match self.clock.poll(to.core(), cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(RuntimeGone)) => Poll::Ready(Err(AskError::Stopped)),
            Poll::Ready(Ok(limit)) => {
                self.ask.give_up();
                Poll::Ready(Err(AskError::Timeout(Box::new(AskTimeout::of(
                    &to.to_any(),
                    ActorType::of::<A>(),
                    message,
                    limit,
                )))))
            }
        }
    }
}

/// The time of an ask. Not generic, so that it is compiled once and not for each type of actor.
struct Clock {
    limit: Duration,
    /// Made at the first poll, when the time begins to count.
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    /// Whether it was first polled outside a runtime, so that the time is that of the actor's system.
    is_outside: bool,
}

/// A runtime that is gone has no clock.
struct RuntimeGone;

impl Clock {
    /// Returns the limit when it is over.
    fn poll(&mut self, to: &Core, cx: &mut TaskContext<'_>) -> Poll<Result<Duration, RuntimeGone>> {
        let Self { limit, sleep, is_outside } = self;
        if *is_outside && to.system.dispatcher().has_gone() {
            return Poll::Ready(Err(RuntimeGone));
        }
        let sleep = sleep.get_or_insert_with(|| {
            *is_outside = Handle::try_current().is_err();
            let _inside = is_outside.then(|| to.system.runtime().enter());
            Box::pin(tokio::time::sleep(*limit))
        });
        sleep.as_mut().poll(cx).map(|()| Ok(*limit))
    }
}

impl<A: Actor, T> fmt::Debug for AskWithin<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskWithin").field("limit", &self.clock.limit).finish_non_exhaustive()
    }
}

/// An ask got no reply in time. Says which actor was asked, which message was sent, and what the actor was
/// doing when the time was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskTimeout {
    limit: Duration,
    actor: ActorPath,
    message: &'static str,
    found: RecipientActivity,
}

impl AskTimeout {
    fn of(to: &AnyActorRef, asked: ActorType, message: &'static str, limit: Duration) -> Self {
        Self { limit, actor: to.path(), message, found: RecipientActivity::of(to, asked) }
    }

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
