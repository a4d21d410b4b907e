//! Running one piece of user code so that nothing it does breaks the cell.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use crate::actor::reply;
use crate::actor::request::AskError;
use crate::actor::waits_for;
use crate::base::{Payload, contained, drop_pinned};

/// Why user code has no result.
pub(super) enum Broken {
    Panicked(Payload),
    /// Its future was dropped at an await point.
    Aborted,
}

/// The work that continues while user code waits at an await point.
pub(super) trait WhileParked {
    /// See [`Actor::KEEPS_REPLIES`](crate::Actor::KEEPS_REPLIES).
    const KEEPS_REPLIES: bool;

    /// The code waits for the first time.
    fn parked(&mut self);

    /// Whether the code has waited before.
    fn is_parked(&self) -> bool;

    /// Does the work that is possible while the code waits, and registers the task to be woken for more. Returns
    /// whether to abort the code. Pending: there is more to do before the code may run.
    fn go_on(&mut self, cx: &mut TaskContext<'_>) -> Poll<bool>;

    /// The code is over.
    fn over(&mut self);

    /// The span of the message that is handled, which is current until what this returns is dropped.
    #[cfg(feature = "spans")]
    fn enter_span(&self) -> Option<crate::observe::spans::Inside<'_>>;
}

/// Polls `code` to its end, or until it panics or is aborted. Its future is dropped in here, contained. If the actor keeps reply
/// slots, the caller then settles what becomes of those that were dropped in here.
///
/// Rule 11.1.
pub(super) fn finish<'a, F: Future, W: WhileParked>(
    code: Pin<&'a mut Option<F>>,
    meanwhile: &'a mut W,
) -> Finish<'a, F, W> {
    Finish { code, meanwhile }
}

/// See [`finish`]. Written by hand, because every actor reserves room for it and an `async fn` would need twice as
/// much.
pub(super) struct Finish<'a, F, W: WhileParked> {
    code: Pin<&'a mut Option<F>>,
    meanwhile: &'a mut W,
}

/// The runtime went away while the code waited.
impl<F, W: WhileParked> Drop for Finish<'_, F, W> {
    fn drop(&mut self) {
        #[cfg(feature = "spans")]
        let _inside = self.meanwhile.enter_span();
        if W::KEEPS_REPLIES {
            reply::dropping(AskError::Stopped, || drop_pinned(self.code.as_mut()));
        } else {
            drop_pinned(self.code.as_mut());
        }
    }
}

impl<F: Future, W: WhileParked> Finish<'_, F, W> {
    fn end(&mut self, result: Result<F::Output, Broken>) -> Poll<Result<F::Output, Broken>> {
        {
            #[cfg(feature = "spans")]
            let _inside = self.meanwhile.enter_span();
            drop_pinned(self.code.as_mut());
        }
        if waits_for::KNOWN {
            self.meanwhile.over();
        }
        Poll::Ready(result)
    }

    fn wait() -> Poll<Result<F::Output, Broken>> {
        if W::KEEPS_REPLIES {
            reply::settle(|| AskError::Unanswered);
        }
        Poll::Pending
    }
}

impl<F: Future, W: WhileParked> Future for Finish<'_, F, W> {
    type Output = Result<F::Output, Broken>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if W::KEEPS_REPLIES {
            reply::begin();
        }
        if self.meanwhile.is_parked() {
            match self.meanwhile.go_on(cx) {
                Poll::Ready(true) => return self.end(Err(Broken::Aborted)),
                Poll::Ready(false) => {}
                Poll::Pending => return Self::wait(),
            }
        }
        let this = &mut *self;
        let Some(running) = this.code.as_mut().as_pin_mut() else {
            unreachable!("the future is dropped only at the end");
        };
        #[cfg(feature = "spans")]
        let inside = this.meanwhile.enter_span();
        let polled = contained(|| running.poll(cx));
        #[cfg(feature = "spans")]
        drop(inside);
        match polled {
            Ok(Poll::Ready(value)) => return self.end(Ok(value)),
            Err(payload) => return self.end(Err(Broken::Panicked(payload))),
            Ok(Poll::Pending) => {}
        }
        if !self.meanwhile.is_parked() {
            self.meanwhile.parked();
            if self.meanwhile.go_on(cx) == Poll::Ready(true) {
                return self.end(Err(Broken::Aborted));
            }
        }
        Self::wait()
    }
}
