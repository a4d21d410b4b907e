//! Stops all actors, and logs which of them delay the end.
//!
//! Rule 9.2.

use tokio::time::{Instant, timeout};

use crate::actor::{ActorSystem, DEFAULT_STOP_TIMEOUT, dispatch};
use crate::inspect::StillStopping;
use crate::observe;

impl ActorSystem {
    /// Stops all actors. If that takes longer than the default stop timeout, the log names those that still run. Each
    /// further log line comes after twice that time.
    pub(super) fn stop_all(&self) {
        self.user_guardian().stop();
        if self.core().shutdown().begins_to_stop_all() {
            dispatch::start(self.core(), name_those_that_still_run(self.clone()));
        }
    }
}

async fn name_those_that_still_run(system: ActorSystem) {
    let begun = Instant::now();
    let mut wait = DEFAULT_STOP_TIMEOUT;
    while timeout(wait, system.when_terminated()).await.is_err() {
        let running = StillStopping::of(&system);
        if !running.is_empty() {
            observe::still_stopping(begun.elapsed(), &running);
        }
        wait = begun.elapsed();
    }
}
