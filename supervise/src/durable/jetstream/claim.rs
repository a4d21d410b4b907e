//! Owning a queue, and leaving it.

use std::collections::BTreeSet;

use bytes::Bytes;
use supervise_core::durable::{Claim, QueueId, Seq, StoreError, StoreErrorKind};

use super::lease::{Lease, Taken};
use super::open::{Open, Owned};
use super::read::{last_messages, last_number};
use super::record::{Charge, Fields};
use super::{Result, broken};

impl Open {
    pub(super) async fn claim(&mut self, name: &str) -> Result<Claim> {
        let id = self.queue_named(name).await?;
        let (lease, fence) = self.take_lease(id, name).await?;
        let owner = format!("state.owner.{}", id.0);
        let before = self.state.get_last_raw_message_by_subject(&self.subject(&owner)).await;
        let died =
            before.is_ok_and(|owner| !owner.payload.is_empty() && owner.payload != self.settings.token.as_bytes());
        self.put(&owner, Bytes::copy_from_slice(self.settings.token.as_bytes())).await?;

        let charges = last_messages(&self.state, self.subject(&format!("state.charge.{}.*", id.0))).await?;
        let charges = charges.into_iter().filter_map(|(subject, payload, _)| {
            Some((last_number(&subject)?, Charge::decode(&mut Fields(&payload))))
        });
        let charges = charges.collect();
        let queue = self.queues.get_mut(&id).ok_or_else(|| broken("the queue is gone"))?;
        let state = queue.stream.get_info().await.map_err(broken)?.state;
        let first = if state.messages == 0 { state.last_sequence + 1 } else { state.first_sequence };
        queue.owned = Some(Owned { lease, first, gone: BTreeSet::new(), charges });
        Ok(Claim {
            queue: id,
            waiting: state.messages,
            last: Seq(state.last_sequence),
            handled: Seq(first - 1),
            begun: (died && state.messages > 0).then_some(Seq(first)),
            fence,
        })
    }

    /// Waits until the lease of an owner who has died has ended.
    pub(super) async fn take_lease(&mut self, id: QueueId, name: &str) -> Result<(Lease, u64)> {
        let of = self.subject(&format!("lease.{}", id.0));
        let leases = self.context.get_stream(format!("SV_{}_LEASE", self.system)).await.map_err(broken)?;
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.owned = None;
        }
        let deadline = tokio::time::Instant::now() + self.settings.lease * 2;
        let mut holder = None;
        loop {
            let present = leases.get_last_raw_message_by_subject(&of).await.ok();
            let own = present.as_ref().filter(|held| held.payload == self.settings.token.as_bytes());
            let after = own.map_or(0, |held| held.sequence);
            match Lease::take(&self.context, of.clone(), &self.settings.token, after, self.settings.lease).await {
                Ok(taken) => return Ok(taken),
                Err(Taken::Failed(text)) => return Err(broken(text)),
                Err(Taken::Yes) => {}
            }
            let seen = present.map(|held| held.sequence);
            let renews = holder.is_some() && seen.is_some() && seen != holder;
            if renews || tokio::time::Instant::now() > deadline {
                let text = format!("the queue {name} has an owner on another node");
                return Err(StoreError::new(StoreErrorKind::Claimed, text));
            }
            holder = seen;
            tokio::time::sleep(self.settings.lease / 2).await;
        }
    }

    /// Leaves a queue to the next owner.
    pub(super) async fn release(&mut self, id: QueueId) -> Result<()> {
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(()) };
        if queue.owned.take().is_some() {
            self.put(&format!("state.owner.{}", id.0), Bytes::new()).await?;
            let leases =
                self.context.get_stream_no_info(format!("SV_{}_LEASE", self.system)).await.map_err(broken)?;
            leases.purge().filter(self.subject(&format!("lease.{}", id.0))).await.map_err(broken)?;
        }
        Ok(())
    }
}
