//! Queues with messages that no actor owns: perhaps their actor has another path since the last release.
//!
//! Rule 27.11.

use std::time::Duration;

use tokio::time::Instant;

use super::{News, StoreErrorKind, Writer};

/// How long after the first opening of the store the writer looks for them. By then, a program has spawned its actors.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

impl Writer {
    /// If it is time, tells which queues have messages and no owner.
    pub(super) async fn look_for_owners(&mut self) {
        if self.looks.is_none_or(|at| at > Instant::now()) {
            return;
        }
        let rows = match self.rows().await {
            Ok(rows) => rows,
            // The writer looks again when the store is open again.
            Err(error) if error.kind == StoreErrorKind::Broken => return self.outage(error.to_string()).await,
            Err(_) => Vec::new(),
        };
        self.looks = None;
        for row in rows {
            let has_owner = row.owner.is_some() || self.inbox.is_reserved(&row.name);
            if !has_owner && row.waiting > 0 {
                self.listener.hear(News::Unowned { queue: row.name.into(), messages: row.waiting });
            }
        }
    }
}
