//! Discards messages that have been in quarantine for as long as their queue keeps them.
//!
//! Rule 27.15.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::{Change, PAGE_BYTES, Room, Seq, StoreError, StoreErrorKind, Writer, commit};

/// How often the writer looks through quarantines.
const SWEEP: Duration = Duration::from_secs(3600);

/// How much of a quarantine is in memory at a time.
pub(super) const PAGE_OF_QUARANTINE: Room = Room { messages: 1024, bytes: PAGE_BYTES };

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
            match self.discard_older(&name, keep).await {
                Err(error) if error.kind == StoreErrorKind::Broken => return self.outage(error.to_string()).await,
                // Otherwise the queue is gone.
                Ok(()) | Err(_) => {}
            }
        }
    }

    /// Discards what has been in the quarantine of a queue for longer than `keep`.
    async fn discard_older(&mut self, queue: &str, keep: Duration) -> Result<(), StoreError> {
        let mut after = Seq(0);
        loop {
            let page = self.store.quarantined(queue, after, PAGE_OF_QUARANTINE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id.seq;
            let now = SystemTime::now();
            for one in page {
                // If somebody has set the clock back, the message stays longer.
                if now.duration_since(one.since).is_ok_and(|age| age > keep) {
                    self.group.add(Change::Discard(one.id), commit::Then::Nothing);
                }
            }
            if self.group.is_full() {
                self.commit().await;
            }
        }
    }
}
