//! How long a new task waits for a thread of the system's runtime.
//!
//! Rule 22.3.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// A task that does nothing but note when it runs.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// When the last task was spawned, and when it ran.
    last: Option<(Instant, Arc<OnceLock<Instant>>)>,
}

impl Pulse {
    /// How long the last task waited, or has waited until now. Spawns the next task if the last one has run. `None`: no task was
    /// spawned before.
    pub(super) fn beat(&mut self, runtime: &Handle) -> Option<Duration> {
        let now = Instant::now();
        let waited = self.last.as_ref().map(|(spawned, ran)| {
            let until = ran.get().copied().unwrap_or(now);
            until.saturating_duration_since(*spawned)
        });
        if self.last.as_ref().is_none_or(|(_, ran)| ran.get().is_some()) {
            let ran = Arc::new(OnceLock::new());
            self.last = Some((now, Arc::clone(&ran)));
            runtime.spawn(async move {
                _ = ran.set(Instant::now());
            });
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time until a task runs is that of the runtime's threads: here the only one is the test's own.
    #[test]
    fn a_task_that_has_not_run_is_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut pulse = Pulse::default();
        assert_eq!(pulse.beat(runtime.handle()), None);
        let first = pulse.beat(runtime.handle()).expect("there was a task");
        let second = pulse.beat(runtime.handle()).expect("it has not run");
        assert!(second >= first);
        runtime.block_on(tokio::task::yield_now());
        let ran = pulse.beat(runtime.handle()).expect("it has run");
        assert!(ran >= second);
        let next = pulse.last.as_ref().expect("the next one");
        assert!(next.1.get().is_none(), "it was spawned just now");
    }
}
