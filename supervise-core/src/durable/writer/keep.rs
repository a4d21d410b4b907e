//! Discards messages that have been in quarantine for as long as their queue keeps them.
//!
//! Rule 27.15.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::{Change, StoreErrorKind, Writer, commit};

/// How often the writer looks through quarantines.
const SWEEP: Duration = Duration::from_secs(3600);

impl Writer {
    /// If it is time, looks through the quarantines of those queues of this process whose settings have a `keep`.
    pub(super) async fn sweep(&mut self) {
        if self.sweeps.is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.sweeps = None;
        let keeping = self.queues.values().filter_map(|entry| {
            let keep = entry.outlet.settings.keep?;
            Some((entry.outlet.name.to_string(), keep))
        });
        let keeping: Vec<_> = keeping.collect();
        for (name, keep) in keeping {
            self.sweeps = Some(Instant::now() + SWEEP);
            let quarantined = match self.store.quarantined(&name).await {
                Ok(quarantined) => quarantined,
                Err(error) if error.kind == StoreErrorKind::Broken => return self.outage(error.to_string()).await,
                // The queue is gone.
                Err(_) => continue,
            };
            let now = SystemTime::now();
            for one in quarantined {
                // If somebody has set the clock back, the message stays longer.
                if now.duration_since(one.since).is_ok_and(|age| age > keep) {
                    self.group.add(Change::Discard(one.id), commit::Then::Nothing);
                }
            }
        }
    }
}
