//! What nobody should write, or nobody expects in such numbers: each gives a clear error or works. None panics, overflows
//! the stack or takes time out of proportion.
//!
//! | file | owns |
//! |---|---|
//! | `text.rs` | names, paths, selections |
//! | `durations.rs` | no time at all, and all the time there is |
//! | `endings.rs` | actors that have ended, are ending, or are of another type |
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
