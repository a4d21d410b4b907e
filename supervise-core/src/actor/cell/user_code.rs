//! Running one piece of user code so that nothing it does breaks the cell.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use super::run::UserCodeResult;
use crate::actor::reply;
use crate::actor::request::AskError;
use crate::actor::waits_for;
use crate::base::{Payload, contained, drop_pinned};
use crate::failure::Failure;

/// Why user code has no result.
pub(super) enum Broken {
    Panicked(Payload),
    /// Its future was dropped at an await point.
    Aborted,
}

/// The work that continues while user code waits at an await point.
pub(super) trait WhileParked {
    /// See [`Actor::KEEPS_REPLIES`](crate::Actor::KEEPS_REPLIES).
    fn keeps_replies(&self) -> bool;

    /// The code waits for the first time.
    fn parked(&mut self);

    /// Whether the code has waited before.
    fn is_parked(&self) -> bool;

    /// Whether others may wait for the return of the code, so that it must not wait for them.
    fn may_be_held(&self) -> bool;

    /// Does the work that is possible while the code waits, and registers the task to be woken for more. Returns
    /// whether to abort the code. Pending: there is more to do before the code may run.
    fn go_on(&mut self, cx: &mut TaskContext<'_>) -> Poll<bool>;

    /// The code is over.
    fn over(&mut self);

    /// Enters the span of the message that is handled, until the returned guard is dropped.
    #[cfg(feature = "spans")]
    fn enter_span(&self) -> Option<crate::observe::spans::Inside<'_>>;
}

/// The place of the future of user code, which is empty when the code is over.
pub(super) trait Code {
    fn poll_code(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Result<(), Failure>>;

    /// Drops the future, contained.
    fn drop_code(self: Pin<&mut Self>);
}

impl<F: Future<Output = Result<(), Failure>>> Code for Option<F> {
    #[inline]
    fn poll_code(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Result<(), Failure>> {
        match self.as_pin_mut() {
            Some(running) => running.poll(cx),
            None => unreachable!("the future is dropped only at the end"),
        }
    }

    #[inline]
    fn drop_code(self: Pin<&mut Self>) {
        drop_pinned(self);
    }
}

/// Polls `code` to its end, or until it panics or is aborted. Its future is dropped in here, contained. If the actor keeps reply
/// slots, the caller then settles what becomes of those that were dropped in here.
///
/// Rule 11.1.
#[cfg(not(debug_assertions))]
pub(super) fn finish<'a, F, W: WhileParked>(
    code: Pin<&'a mut Option<F>>,
    meanwhile: &'a mut W,
) -> Finish<'a, Option<F>, W>
where
    F: Future<Output = Result<(), Failure>>,
{
    Finish { code, meanwhile }
}

/// The same in debug builds, which compile [`Finish`] once and not for each kind of code of each actor.
#[cfg(debug_assertions)]
pub(super) fn finish<'a, F, W: WhileParked + Send>(
    code: Pin<&'a mut Option<F>>,
    meanwhile: &'a mut W,
) -> Finish<'a, dyn Code + Send + 'a, dyn WhileParked + Send + 'a>
where
    F: Future<Output = Result<(), Failure>> + Send,
{
    Finish { code, meanwhile }
}

/// See [`finish`]. Written by hand, because every actor reserves room for it and an `async fn` would need twice as
/// much.
pub(super) struct Finish<'a, C: Code + ?Sized, W: WhileParked + ?Sized> {
    code: Pin<&'a mut C>,
    meanwhile: &'a mut W,
}

/// The runtime went away while the code waited.
impl<C: Code + ?Sized, W: WhileParked + ?Sized> Drop for Finish<'_, C, W> {
    fn drop(&mut self) {
        #[cfg(feature = "spans")]
        let _inside = self.meanwhile.enter_span();
        if self.meanwhile.keeps_replies() {
            reply::dropping(AskError::Stopped, || self.code.as_mut().drop_code());
        } else {
            self.code.as_mut().drop_code();
        }
    }
}

impl<C: Code + ?Sized, W: WhileParked + ?Sized> Finish<'_, C, W> {
    #[inline]
    fn end(&mut self, result: UserCodeResult) -> Poll<UserCodeResult> {
        {
            #[cfg(feature = "spans")]
            let _inside = self.meanwhile.enter_span();
            self.code.as_mut().drop_code();
        }
        if waits_for::KNOWN {
            self.meanwhile.over();
        }
        Poll::Ready(result)
    }

    fn wait(&self) -> Poll<UserCodeResult> {
        if self.meanwhile.keeps_replies() {
            reply::settle(|| AskError::Unanswered);
        }
        Poll::Pending
    }
}

impl<C: Code + ?Sized, W: WhileParked + ?Sized> Future for Finish<'_, C, W> {
    type Output = UserCodeResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if self.meanwhile.keeps_replies() {
            reply::begin();
        }
        if self.meanwhile.is_parked() {
            match self.meanwhile.go_on(cx) {
                Poll::Ready(true) => return self.end(Err(Broken::Aborted)),
                Poll::Ready(false) => {}
                Poll::Pending => return self.wait(),
            }
        }
        let this = &mut *self;
        #[cfg(feature = "spans")]
        let inside = this.meanwhile.enter_span();
        let polled = contained(|| this.code.as_mut().poll_code(cx));
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
            if self.meanwhile.may_be_held() {
                // It began to wait before it was marked as held, so it is polled once more.
                cx.waker().wake_by_ref();
            }
        }
        self.wait()
    }
}
