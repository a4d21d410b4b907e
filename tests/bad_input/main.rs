//! Invalid input and unexpectedly large input. Each case works or gives a clear error. None panics, overflows the stack
//! or takes disproportionate time.
//!
//! | file | owns |
//! |---|---|
//! | `text.rs` | names, paths, selections |
//! | `durations.rs` | durations of zero and of the maximum |
//! | `endings.rs` | actors that have ended, are ending, or are of a wrong type |
//! | `scale.rs` | many children, deep paths |

mod durations;
mod endings;
mod scale;
mod text;

use std::time::Duration;

use supervise::prelude::*;

/// Answers, or takes its time.
#[actor]
struct Modest {
    count: u64,
}

impl Modest {
    fn new() -> Self {
        Self { count: 0 }
    }
}

#[actor]
impl Modest {
    #[handler]
    fn count(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    #[handler]
    async fn nap(&mut self, length: Duration) {
        tokio::time::sleep(length).await;
    }

    #[handler]
    async fn hang(&mut self) {
        std::future::pending::<()>().await;
    }
}
