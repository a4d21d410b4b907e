//! What runs elsewhere and can be cancelled from the actor's turn.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use tokio::task::AbortHandle;

use crate::base::drop_contained;

/// A future, or a closure. Whoever runs it takes it out meanwhile, so that no user code runs under the lock, and so that
/// whoever cancels it drops it at once unless it is running.
///
/// ```text
///            take               put_back
///   waiting ──────► running ──────────────► waiting
///      │ cancel        │ cancel
///      ▼               ▼          put_back
///   cancelled ◄──── cancelled ◄────────────  given back, to be dropped
/// ```
///
/// Rule 17.5.
pub(super) struct Body<T>(Mutex<State<T>>);

enum State<T> {
    Waiting(T),
    Running,
    Cancelled,
}

impl<T> Body<T> {
    pub(super) fn new(body: T) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State::Waiting(body))))
    }

    fn replace(&self, replace: impl FnOnce(State<T>) -> (State<T>, Option<T>)) -> Option<T> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, out) = replace(std::mem::replace(&mut *state, State::Cancelled));
        *state = next;
        out
    }

    /// Takes it out to run it, unless it was cancelled.
    pub(super) fn take(&self) -> Option<T> {
        self.replace(|state| match state {
            State::Waiting(body) => (State::Running, Some(body)),
            state => (state, None),
        })
    }

    /// Puts it back for its next run. Given back if it was cancelled meanwhile.
    fn put_back(&self, body: T) -> Option<T> {
        self.replace(|state| match state {
            State::Running => (State::Waiting(body), None),
            state => (state, Some(body)),
        })
    }

    fn cancel(&self) -> Option<T> {
        self.replace(|state| match state {
            State::Waiting(body) => (State::Cancelled, Some(body)),
            _ => (State::Cancelled, None),
        })
    }
}

/// A body of any type.
trait Cancellable: Send + Sync {
    fn cancel(&self);
}

impl<T: Send> Cancellable for Body<T> {
    fn cancel(&self) {
        drop_contained(self.cancel());
    }
}

/// Cancels a body when it is dropped.
pub(super) struct Cancel {
    body: Arc<dyn Cancellable>,
    task: AbortHandle,
}

impl Cancel {
    pub(super) fn new<T: Send + 'static>(body: Arc<Body<T>>, task: AbortHandle) -> Self {
        Self { body, task }
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        self.body.cancel();
        // What is left of the task is empty.
        self.task.abort();
    }
}

type BoxedFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Polls a body. What its future runs of the user's is contained there.
pub(super) struct Driver(Arc<Body<BoxedFuture>>);

impl Driver {
    pub(super) fn new(body: &Arc<Body<BoxedFuture>>) -> Self {
        Self(Arc::clone(body))
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Some(mut future) = self.0.take() else { return Poll::Ready(()) };
        if future.as_mut().poll(cx).is_pending() {
            let Some(cancelled) = self.0.put_back(future) else { return Poll::Pending };
            drop_contained(cancelled);
        }
        Poll::Ready(())
    }
}

/// The runtime goes away.
impl Drop for Driver {
    fn drop(&mut self) {
        drop_contained(self.0.cancel());
    }
}
