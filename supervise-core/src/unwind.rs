//! Running user code so that its panic stops here. Dropping a user's value is user code too.
//!
//! A user's value that the runtime keeps is in a [`UserValue`]: wherever that goes, the value's destructor runs where it can
//! do no harm.
//!
//! 1. A destructor's panic is caught and logged. It never unwinds into the runtime, or out of another destructor.
//! 2. No destructor runs while this thread [holds](Hold) a lock of the runtime's own. The value waits for the lock's release.
//! 3. A destructor that drops further values does not run theirs: they wait until it is done. So a chain of values of any
//!    length is dropped in a loop.
//!
//! Rule 11.2.

use std::any::{Any, type_name};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{forget, needs_drop};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use pin_project_lite::pin_project;

/// What a panic gave: a user's value too.
pub(crate) type Payload = UserValue<Box<dyn Any + Send>>;

/// Runs `code`; its panic becomes the error.
///
/// The state it touched may be half-updated: whoever calls this must not show it to user code again, unless a
/// table says so in words.
pub(crate) fn contained<T>(code: impl FnOnce() -> T) -> Result<T, Payload> {
    catch_unwind(AssertUnwindSafe(code)).map_err(UserValue::new)
}

/// Drops a user's value. A panic is logged.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(move || drop(value))) {
        drop_panicked(payload, type_name::<T>());
    }
}

/// A payload is a user's value too. What its destructor panics with is forgotten, so that this comes to an end.
#[cold]
fn drop_panicked(payload: Box<dyn Any + Send>, type_name: &str) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        forget(another);
    }
    crate::observe::drop_panicked(type_name);
}

/// Like [`drop_quietly`], for a future where it is pinned.
pub(crate) fn drop_pinned<F>(mut future: Pin<&mut Option<F>>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| future.set(None))) {
        drop_panicked(payload, type_name::<F>());
    }
}

/// Polls `code` to its end; its panic becomes the error. Its future is dropped in here, contained.
pub(crate) fn contained_async<F: Future>(code: F) -> impl Future<Output = Result<F::Output, Payload>> {
    Contained { code: Some(code) }
}

pin_project! {
    /// See [`contained_async`].
    struct Contained<F> {
        #[pin]
        code: Option<F>,
    }

    impl<F> PinnedDrop for Contained<F> {
        fn drop(this: Pin<&mut Self>) {
            drop_pinned(this.project().code);
        }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, Payload>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let mut code = self.project().code;
        let Some(running) = code.as_mut().as_pin_mut() else {
            unreachable!("the future is dropped only at the end");
        };
        let result = match contained(|| running.poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(payload) => Err(payload),
        };
        drop_pinned(code);
        Poll::Ready(result)
    }
}

/// A user's value. It may be dropped anywhere, under any lock.
pub(crate) struct UserValue<T: 'static>(Option<T>);

impl<T> UserValue<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    pub(crate) fn into_inner(mut self) -> T {
        match self.0.take() {
            Some(value) => value,
            None => unreachable!("only taken as the last thing"),
        }
    }
}

impl<T> Deref for UserValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("only taken as the last thing"),
        }
    }
}

impl<T> DerefMut for UserValue<T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(value) => value,
            None => unreachable!("only taken as the last thing"),
        }
    }
}

impl<T> Drop for UserValue<T> {
    fn drop(&mut self) {
        if needs_drop::<T>()
            && let Some(value) = self.0.take()
        {
            if HELD.get() < HOLD {
                let _alone = Hold::new();
                drop_quietly(value);
            } else {
                drop_later(value);
            }
        }
    }
}

thread_local! {
    /// How many [`Hold`]s there are, times [`HOLD`], and whether [values wait](SOME_WAIT): looked at together, because every
    /// step of every actor does so.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// The values that wait, with the names of their types.
    static WAITING: RefCell<VecDeque<(Box<dyn Any>, &'static str)>> = const { RefCell::new(VecDeque::new()) };
}

const SOME_WAIT: usize = 1;
const HOLD: usize = 2;

/// While there is one, this thread holds a lock, or runs a destructor. Dropped after the lock is released.
pub(crate) struct Hold {
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl Hold {
    #[inline]
    pub(crate) fn new() -> Self {
        HELD.set(HELD.get() + HOLD);
        Self { thread: PhantomData }
    }
}

impl Drop for Hold {
    #[inline]
    fn drop(&mut self) {
        let held = HELD.get();
        if held == HOLD | SOME_WAIT {
            return drop_waiting();
        }
        HELD.set(held - HOLD);
    }
}

#[cold]
fn drop_later<T: 'static>(value: T) {
    let mut value = Some((Box::new(value) as Box<dyn Any>, type_name::<T>()));
    let kept = WAITING.try_with(|waiting| waiting.borrow_mut().extend(value.take()));
    match kept {
        Ok(()) => HELD.set(HELD.get() | SOME_WAIT),
        // The thread ends: nobody will come back for it.
        Err(_) => drop_quietly(value),
    }
}

/// One after the other; what their destructors drop joins the queue.
#[cold]
fn drop_waiting() {
    while let Ok(Some((value, type_name))) = WAITING.try_with(|waiting| waiting.borrow_mut().pop_front()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(move || drop(value))) {
            drop_panicked(payload, type_name);
        }
    }
    HELD.set(0);
}
