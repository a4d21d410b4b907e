//! User code that runs outside the actor's turns and can be cancelled from a turn.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use tokio::task::AbortHandle;

use crate::base::UserValue;

/// A future or a closure. While it runs, it is taken out, so that no user code runs under the lock. Cancelling takes it out too and
/// drops it at once, unless it is running.
///
/// Rule 17.5.
pub(super) struct Body<T: 'static>(Mutex<Option<UserValue<T>>>);

impl<T> Body<T> {
    pub(super) fn new(body: T) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(UserValue::new(body)))))
    }

    /// Takes it out, unless it is running or was cancelled.
    pub(super) fn take(&self) -> Option<UserValue<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Puts it back for its next run.
    fn put_back(&self, body: UserValue<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
    }
}

/// A body of any type.
trait Cancellable: Send + Sync {
    fn cancel(&self);
}

impl<T: Send> Cancellable for Body<T> {
    fn cancel(&self) {
        drop(self.take());
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
        // Tokio drops its task. The task is empty, unless the body is being polled; then it is dropped with the
        // body after that poll.
        self.task.abort();
    }
}

pub(super) type BoxedFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Polls a body.
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
        let poll = future.as_mut().poll(cx);
        if poll.is_pending() {
            self.0.put_back(future);
        }
        poll
    }
}
