//! Running one piece of user code so that nothing it does breaks the cell.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use crate::unwind::{contained, drop_quietly};

/// Why user code has no result.
pub(super) enum Broken {
    Panicked(Box<dyn Any + Send>),
    /// It was told to go at an await point.
    Aborted,
}

/// What goes on while user code waits at an await point.
pub(super) trait WhileParked {
    /// The code waits for the first time.
    fn parked(&mut self);

    /// Does what may be done meanwhile, and has the task woken when there is more. Answers whether to abort.
    fn go_on(&mut self, cx: &mut TaskContext<'_>) -> bool;
}

/// Polls `code` to its end, or until it panics or is aborted. Its future is dropped in here, contained.
///
/// Rule 11.1.
pub(super) async fn finish<F: Future>(
    mut code: Pin<&mut Option<F>>,
    meanwhile: &mut impl WhileParked,
) -> Result<F::Output, Broken> {
    let mut parked = false;
    let result = poll_fn(|cx| {
        if parked && meanwhile.go_on(cx) {
            return Poll::Ready(Err(Broken::Aborted));
        }
        let Some(running) = code.as_mut().as_pin_mut() else {
            unreachable!("the future is dropped only after this loop");
        };
        match contained(|| running.poll(cx)) {
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(payload) => Poll::Ready(Err(Broken::Panicked(payload))),
            Ok(Poll::Pending) if parked => Poll::Pending,
            Ok(Poll::Pending) => {
                parked = true;
                meanwhile.parked();
                if meanwhile.go_on(cx) { Poll::Ready(Err(Broken::Aborted)) } else { Poll::Pending }
            }
        }
    })
    .await;
    if let Err(payload) = contained(|| code.set(None)) {
        drop_quietly(payload);
    }
    result
}
