//! Running user code so that its panic stops here. Dropping a user's value is user code too.
//!
//! The runtime keeps a user's value in a [`UserValue`]. Wherever that is dropped, the value's destructor runs where it
//! can do no harm.
//!
//! 1. A destructor's panic is caught and logged. It never unwinds into the runtime, or out of another destructor.
//! 2. No destructor runs while this thread [holds](Hold) a lock of the runtime's own. The value waits for the lock's release.
//! 3. Destructors nest as they do elsewhere, but only [to a limited depth](DEEPEST): values that the innermost one
//!    drops wait until it is done. So a chain of values of any length is dropped in a loop.
//!
//! Rule 11.2.

use std::any::{Any, type_name};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, forget, needs_drop, take};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use pin_project_lite::pin_project;

use super::log;

/// The payload of a panic, which is a user's value too.
pub(crate) type Payload = UserValue<Box<dyn Any + Send>>;

/// Runs `code`. Its panic becomes the error.
///
/// The state that `code` touched may be half-updated. The caller must not show it to user code again, unless a table
/// explicitly says so.
pub(crate) fn contained<T>(code: impl FnOnce() -> T) -> Result<T, Payload> {
    catch_unwind(AssertUnwindSafe(code)).map_err(UserValue::new)
}

/// Runs `code` without logging its panic. Returns whether `code` returned. For the logging code itself, where a log
/// line about the panic could panic again.
pub(crate) fn contained_silently(mut code: impl FnMut()) -> bool {
    // Compiled once, and not for each line that is logged.
    fn once(code: &mut dyn FnMut()) -> bool {
        contained(code).map_err(|payload| drop_silently(payload.into_inner())).is_ok()
    }
    once(&mut code)
}

/// Drops a user's value. A panic is logged.
pub(crate) fn drop_contained<T>(value: T) {
    if cfg!(debug_assertions) {
        let mut value = Some(value);
        cleared(&mut || value = None, type_name::<T>());
    } else if let Err(payload) = catch_unwind(AssertUnwindSafe(move || drop(value))) {
        drop_panicked(payload, type_name::<T>());
    }
}

/// Runs a destructor. Debug builds compile this once and not for each type of value, because `catch_unwind` is much
/// code where nothing is inlined.
fn cleared(clear: &mut dyn FnMut(), type_name: &str) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(clear)) {
        drop_panicked(payload, type_name);
    }
}

#[cold]
fn drop_panicked(payload: Box<dyn Any + Send>, type_name: &str) {
    drop_silently(payload);
    contained_silently(|| log::drop_panicked(type_name));
}

/// Drops a payload, which is a user's value too, without logging. A second payload is leaked, to avoid a loop.
#[cold]
fn drop_silently(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        forget(another);
    }
}

/// Like [`drop_contained`], for a pinned future.
pub(crate) fn drop_pinned<F>(mut future: Pin<&mut Option<F>>) {
    if cfg!(debug_assertions) {
        cleared(&mut || future.set(None), type_name::<F>());
    } else if let Err(payload) = catch_unwind(AssertUnwindSafe(|| future.set(None))) {
        drop_panicked(payload, type_name::<F>());
    }
}

/// Polls `code` to its end. Its panic becomes the error. The future is dropped in here, contained.
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
            if let Some(depth) = enter_destructor() {
                drop_contained(value);
                leave_destructor(depth);
            } else {
                drop_later(Box::new(value), type_name::<T>());
            }
        }
    }
}

/// Returns the depth outside the destructor, unless the value must wait.
#[inline]
fn enter_destructor() -> Option<usize> {
    let depth = DEPTH.get();
    if HELD.get() < HOLD && depth < DEEPEST {
        DEPTH.set(depth + 1);
        Some(depth)
    } else {
        None
    }
}

#[inline]
fn leave_destructor(depth: usize) {
    DEPTH.set(depth);
    if HELD.get() == SOME_WAIT {
        drop_waiting();
    }
}

/// The values that wait to be dropped, with the names of their types.
type Waiting = Vec<(Box<dyn Any>, &'static str)>;

thread_local! {
    /// How many [`Hold`]s there are, times [`HOLD`], and whether [values wait](SOME_WAIT). Both are in one number,
    /// because every step of every actor reads them.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// How many destructors of [`UserValue`]s are running, one within the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The values that wait. `ManuallyDrop`, because other thread-locals may drop values when the thread ends. It is
    /// empty and has no allocation while no lock is held and no destructor runs.
    static WAITING: ManuallyDrop<RefCell<Waiting>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

const SOME_WAIT: usize = 1;
const HOLD: usize = 2;

/// How deep destructors may nest.
const DEEPEST: usize = 16;

/// Marks that this thread holds a lock. It is dropped after the lock is released.
pub(crate) struct Hold {
    /// Makes it `!Send`: it belongs to its thread.
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
        let held = HELD.get() - HOLD;
        HELD.set(held);
        if held == SOME_WAIT {
            drop_waiting();
        }
    }
}

#[cold]
fn drop_later(value: Box<dyn Any>, type_name: &'static str) {
    WAITING.with(|waiting| waiting.borrow_mut().push((value, type_name)));
    HELD.set(HELD.get() | SOME_WAIT);
}

/// Drops the values that wait, in order, and then the values that their destructors have added. Does nothing in the
/// innermost destructor: the values that wait then are dropped when that destructor is done.
#[cold]
fn drop_waiting() {
    let depth = DEPTH.get();
    if depth == DEEPEST {
        return;
    }
    DEPTH.set(depth + 1);
    while HELD.get() == SOME_WAIT {
        // Taken out, so that a destructor that gets here does not run those of the other values.
        let waiting = WAITING.with(|waiting| take(&mut *waiting.borrow_mut()));
        HELD.set(0);
        for (value, type_name) in waiting {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(move || drop(value))) {
                drop_panicked(payload, type_name);
            }
        }
    }
    DEPTH.set(depth);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;

    /// Runs its code when it is dropped.
    struct OnDrop<F: FnMut()>(F);

    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }

    fn on_drop<F: FnMut() + 'static>(code: F) -> UserValue<OnDrop<F>> {
        UserValue::new(OnDrop(code))
    }

    /// What happened, in order.
    #[derive(Default, Clone)]
    struct Log(Arc<Mutex<Vec<&'static str>>>);

    impl Log {
        fn note(&self, what: &'static str) {
            self.0.lock().unwrap().push(what);
        }

        /// A value whose end is noted.
        fn value(&self, name: &'static str) -> UserValue<impl Sized + use<>> {
            let log = self.clone();
            on_drop(move || log.note(name))
        }

        fn so_far(&self) -> Vec<&'static str> {
            self.0.lock().unwrap().clone()
        }
    }

    /// A destructor may wait for what it drops. Invariant 3.
    #[test]
    fn what_a_destructor_drops_is_gone_when_it_goes_on() {
        let log = Log::default();
        let outer = {
            let log = log.clone();
            on_drop(move || {
                drop(log.value("inner"));
                log.note("outer");
            })
        };
        drop(outer);
        assert_eq!(log.so_far(), ["inner", "outer"]);
    }

    struct Chain {
        _next: Option<UserValue<Box<Chain>>>,
        dropped: Arc<AtomicUsize>,
    }

    impl Drop for Chain {
        fn drop(&mut self) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Invariant 3.
    #[test]
    fn a_chain_of_any_length_is_dropped_before_its_drop_returns() {
        const LENGTH: usize = if cfg!(miri) { 500 } else { 200_000 };
        let dropped = Arc::new(AtomicUsize::new(0));
        let chain = || {
            (0..LENGTH).fold(None, |next, _| {
                Some(UserValue::new(Box::new(Chain { _next: next, dropped: Arc::clone(&dropped) })))
            })
        };
        drop(chain());
        assert_eq!(dropped.load(Ordering::Relaxed), LENGTH);
        let chain = chain();
        let hold = Hold::new();
        drop(chain);
        assert_eq!(dropped.load(Ordering::Relaxed), LENGTH);
        drop(hold);
        assert_eq!(dropped.load(Ordering::Relaxed), 2 * LENGTH);
    }

    /// Invariant 2.
    #[test]
    fn under_a_lock_all_values_wait_in_their_order() {
        let log = Log::default();
        let outer = Hold::new();
        let inner = Hold::new();
        drop(log.value("first"));
        drop(inner);
        drop(log.value("second"));
        assert!(log.so_far().is_empty());
        drop(outer);
        assert_eq!(log.so_far(), ["first", "second"]);
    }

    /// A destructor may hold a lock of its own that another value's destructor takes too.
    #[test]
    fn a_destructor_runs_no_destructor_but_those_of_what_it_drops() {
        let log = Log::default();
        let first = {
            let log = log.clone();
            on_drop(move || {
                log.note("first begins");
                drop(log.value("its own"));
                let hold = Hold::new();
                drop(log.value("its own under a lock"));
                drop(hold);
                log.note("first ends");
            })
        };
        let hold = Hold::new();
        drop(first);
        drop(log.value("second"));
        drop(hold);
        let expected = ["first begins", "its own", "its own under a lock", "first ends", "second"];
        assert_eq!(log.so_far(), expected);
    }

    /// Invariant 2.
    #[test]
    fn values_wait_for_a_lock_when_their_thread_ends_too() {
        thread_local! {
            static KEPT: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
        }
        let log = Log::default();
        let late = log.clone();
        thread::spawn(move || {
            // Thread-local variables are destroyed in the reverse order of their first use.
            KEPT.with_borrow(|_| ());
            drop_later(Box::new(()), "()");
            drop_waiting();
            let at_the_end = move || {
                let hold = Hold::new();
                drop(late.value("value"));
                late.note("the lock is held");
                drop(hold);
            };
            KEPT.set(Some(Box::new(OnDrop(at_the_end))));
        })
        .join()
        .unwrap();
        assert_eq!(log.so_far(), ["the lock is held", "value"]);
    }
}
