//! Running user code so that its panic stops here. Dropping a user's value is user code too.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs `code`; its panic becomes the error.
///
/// The state it touched may be half-updated: whoever calls this must not show it to user code again, unless a
/// table says so in words.
pub(crate) fn contained<T>(code: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(code))
}

/// Drops a user's value. A panic is logged. Its payload is a user's value too: what that panics with is forgotten, so that
/// this comes to an end.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = contained(move || drop(value)) {
        drop_panicked(payload, std::any::type_name::<T>());
    }
}

fn drop_panicked(payload: Box<dyn Any + Send>, type_name: &str) {
    if let Err(another) = contained(move || drop(payload)) {
        std::mem::forget(another);
    }
    crate::observe::drop_panicked(type_name);
}

/// Polls `code` to its end; its panic becomes the error. Its future is dropped in here, contained.
pub(crate) async fn contained_async<T>(code: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut code = pin!(Some(code));
    let result = poll_fn(|cx| match code.as_mut().as_pin_mut() {
        Some(running) => match contained(|| running.poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(payload)),
        },
        None => unreachable!("the future is dropped only after this loop"),
    })
    .await;
    if let Err(payload) = contained(|| code.set(None)) {
        drop_quietly(payload);
    }
    result
}
