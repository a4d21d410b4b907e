//! The synchronization primitives of code whose interleavings loom explores: those of std, or those of [loom] in its
//! tests.
//!
//! ```text
//! RUSTFLAGS="--cfg supervise_loom" LOOM_MAX_PREEMPTIONS=2 cargo test --release -p supervise-core --lib loom
//! ```
//!
//! The rest of this crate does not use loom: its tests only touch code that is built on these primitives.
//!
//! [loom]: https://docs.rs/loom

#[cfg(not(all(test, supervise_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError, atomic};

#[cfg(all(test, supervise_loom))]
pub(crate) use {
    loom::sync::{Mutex, MutexGuard, atomic},
    std::sync::PoisonError,
};
