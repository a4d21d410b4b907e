//! A message that counts its outcome.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use crate::victim::CHAOS;

/// The outcomes of all messages.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) sent: AtomicU64,
    pub(crate) handled: AtomicU64,
    /// Dropped by a handler that failed, panicked or was aborted.
    pub(crate) broken: AtomicU64,
    /// Dropped before a handler had it, or given back to its sender.
    pub(crate) unopened: AtomicU64,
    /// Of these, given back because the mailbox was full.
    pub(crate) refused: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Unopened,
    Opened,
    Handled,
}

#[derive(Debug)]
pub(crate) struct Parcel {
    told: Arc<Told>,
    state: State,
    /// Panics when it is dropped, if that does not abort the process.
    explosive: bool,
}

impl Parcel {
    pub(crate) fn new(told: &Arc<Told>, rng: &mut fastrand::Rng) -> Self {
        told.sent.fetch_add(1, SeqCst);
        Self { told: Arc::clone(told), state: State::Unopened, explosive: rng.u32(..64) == 0 }
    }

    pub(crate) fn open(&mut self) {
        self.state = State::Opened;
    }

    pub(crate) fn close(mut self) {
        self.state = State::Handled;
        self.explosive = false;
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let count = match self.state {
            State::Unopened => &self.told.unopened,
            State::Opened => &self.told.broken,
            State::Handled => &self.told.handled,
        };
        count.fetch_add(1, SeqCst);
        assert_or_unwind(self.explosive);
    }
}

/// Panics, unless a panic is under way already.
pub(crate) fn assert_or_unwind(explodes: bool) {
    if explodes && !std::thread::panicking() {
        std::panic::panic_any(CHAOS);
    }
}
