//! The primitives of code whose interleavings are explored: those of std and tokio, or [loom]'s in its own tests.
//!
//! ```text
//! RUSTFLAGS="--cfg supervise_loom" LOOM_MAX_PREEMPTIONS=2 cargo test --release -p supervise-core --lib loom
//! ```
//!
//! Everything else in this crate knows nothing of it: these tests touch only what is built on these primitives.
//!
//! [loom]: https://docs.rs/loom

#[cfg(not(all(test, supervise_loom)))]
pub(crate) use {
    std::sync::{Mutex, MutexGuard, PoisonError, atomic},
    tokio::sync::{Semaphore, TryAcquireError},
};

#[cfg(all(test, supervise_loom))]
pub(crate) use {
    self::semaphore::{Semaphore, TryAcquireError},
    loom::sync::{Mutex, MutexGuard, atomic},
    std::sync::PoisonError,
};

/// Loom does not see into tokio's semaphore. This one has what is used of it, as its documentation says it.
#[cfg(all(test, supervise_loom))]
mod semaphore {
    use std::collections::VecDeque;
    use std::future::poll_fn;
    use std::task::{Poll, Waker};

    use super::Mutex;

    #[derive(Debug)]
    pub(crate) struct Semaphore(Mutex<State>);

    #[derive(Debug)]
    struct State {
        permits: usize,
        closed: bool,
        waiting: VecDeque<Waker>,
    }

    /// A permit that was taken. It does not come back by itself.
    pub(crate) struct Permit;

    #[derive(Debug)]
    pub(crate) enum TryAcquireError {
        Closed,
        NoPermits,
    }

    impl Semaphore {
        pub(crate) const MAX_PERMITS: usize = tokio::sync::Semaphore::MAX_PERMITS;

        pub(crate) fn new(permits: usize) -> Self {
            Self(Mutex::new(State { permits, closed: false, waiting: VecDeque::new() }))
        }

        pub(crate) fn try_acquire(&self) -> Result<Permit, TryAcquireError> {
            self.0.lock().unwrap().try_acquire()
        }

        pub(crate) async fn acquire(&self) -> Result<Permit, TryAcquireError> {
            poll_fn(|cx| {
                let mut state = self.0.lock().unwrap();
                let acquired = state.try_acquire();
                if let Err(TryAcquireError::NoPermits) = acquired {
                    state.waiting.push_back(cx.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(acquired)
            })
            .await
        }

        pub(crate) fn add_permits(&self, permits: usize) {
            let mut state = self.0.lock().unwrap();
            state.permits += permits;
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        }

        pub(crate) fn close(&self) {
            self.0.lock().unwrap().closed = true;
            self.add_permits(0);
        }
    }

    impl State {
        fn try_acquire(&mut self) -> Result<Permit, TryAcquireError> {
            if self.closed {
                return Err(TryAcquireError::Closed);
            }
            self.permits = self.permits.checked_sub(1).ok_or(TryAcquireError::NoPermits)?;
            Ok(Permit)
        }
    }

    impl Permit {
        pub(crate) fn forget(self) {
            let Self = self;
        }
    }
}
