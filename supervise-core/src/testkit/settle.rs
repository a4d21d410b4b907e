//! Waiting until the actors of a system are idle.

use super::QUIET_ROUNDS;
use crate::actor::ActorSystem;

/// Yields to the other tasks until the cells were quiet for some passes. On one thread a yield lets every task that is
/// ready run before it comes back.
pub(super) async fn settle(system: &ActorSystem) {
    let mut quiet = 0;
    let mut before = system.activity().so_far();
    while quiet < QUIET_ROUNDS {
        tokio::task::yield_now().await;
        let now = system.activity().so_far();
        if now == before {
            quiet += 1;
        } else {
            quiet = 0;
            system.activity().found_unsettled();
        }
        before = now;
    }
}
