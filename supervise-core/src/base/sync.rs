//! The primitives of code whose interleavings are explored: those of std, or [loom]'s in its own tests.
//!
//! ```text
//! RUSTFLAGS="--cfg supervise_loom" LOOM_MAX_PREEMPTIONS=2 cargo test --release -p supervise-core --lib loom
//! ```
//!
//! Everything else in this crate knows nothing of it: these tests touch only what is built on these primitives.
//!
//! [loom]: https://docs.rs/loom

#[cfg(not(all(test, supervise_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError, atomic};

#[cfg(all(test, supervise_loom))]
pub(crate) use {
    loom::sync::{Mutex, MutexGuard, atomic},
    std::sync::PoisonError,
};
