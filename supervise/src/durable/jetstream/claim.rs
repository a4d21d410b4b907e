//! Owning a queue, and leaving it.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use bytes::Bytes;
use supervise_core::durable::lease::{Said, Sighting};
use supervise_core::durable::{Claim, MessageId, QueueId, Seq, StoreError, StoreErrorKind};

use super::handled::Waiting;
use super::lease::{Lease, NotTaken, Terms, Watch};
use super::names::Owned;
use super::open::Open;
use super::quarantine::before_quarantine;
use super::read::{last_messages, last_number, numbers_from, read};
use super::record::{Charge, Fields};
use super::tally::Tally;
use super::{Result, broken};

/// How many messages that a server has brought back are deleted at a time.
const AGAIN: usize = 1024;

fn decode_number(payload: &[u8]) -> u64 {
    payload.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn has_an_owner(name: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Claimed, format!("the queue {name} belongs to another process"))
}

/// Where the record stands that says which messages may have been begun by owners that died.
pub(super) fn of_begun(id: QueueId) -> String {
    format!("state.begun.{}", id.0)
}

pub(super) fn of_owner(id: QueueId) -> String {
    format!("state.owner.{}", id.0)
}

impl Open {
    pub(super) async fn claim(&mut self, name: &str) -> Result<Claim> {
        let id = self.queue_named(name).await?;
        let state = self.stream_state(id).await?;
        let lifts = self.check_open(id, &state).await?;
        self.check_complete(id, &state).await?;
        let lease = self.take_lease(id, name).await?;
        if lifts {
            self.lift_fence(id).await?;
        }
        let before = self.last(&self.state, &of_owner(id)).await?;
        let own = self.settings.token.as_bytes();
        let was_ours = before.as_ref().is_some_and(|(owner, _)| owner == own);
        let died = before.as_ref().is_some_and(|(owner, _)| !owner.is_empty() && owner != own);
        let may_have_begun = self.may_have_begun(id, died).await?;
        let record = match before {
            Some((_, record)) if was_ours => record,
            before => {
                let after = before.map_or(0, |(_, record)| record);
                let own = Bytes::copy_from_slice(own);
                self.put_after(&of_owner(id), own, after).await?.ok_or_else(|| has_an_owner(name))?
            }
        };
        self.read_kept(id).await?;
        let Some(crashes) = self.left_by_sharers(id).await? else {
            self.put_after(&of_owner(id), Bytes::new(), record).await?;
            lease.release(self.terms(id)).await.map_err(broken)?;
            self.leases.lose(id);
            return Err(has_an_owner(name));
        };
        if was_ours {
            self.delete_again(id).await?;
        }
        let mut charges = self.charges(id).await?;
        for (seq, crashes) in crashes {
            let charge = charges.entry(seq.0).or_default();
            charge.crashes = charge.crashes.max(crashes);
        }
        // These are the messages that the last owner has left there.
        let state = self.stream_state(id).await?;
        self.check_complete(id, &state).await?;
        self.check_kept(id, &state).await?;
        let kept = self.kept_in(id, &state).await?;
        if kept.is_some() {
            self.release_kept(id, state.last_sequence).await?;
        }
        let queue = self.queues.get_mut(&id).ok_or_else(|| broken("the queue is gone"))?;
        let now = Waiting::of(&state, kept);
        let tally = Tally::of(now, kept);
        let (mut first, mut waiting) = (tally.first(), now.messages);
        queue.owned = Some(Owned { lease, record, tally, charges });
        if died {
            self.reserve.may_be_spent();
            waiting -= self.finish_quarantine(id).await?;
            first = self
                .queues
                .get(&id)
                .and_then(|queue| queue.owned.as_ref())
                .map_or(first, |owned| owned.tally.first());
        }
        // If the server has just failed, the next request says so.
        let _later = self.fill_reserve().await;
        Ok(Claim {
            queue: id,
            waiting,
            last: Seq(state.last_sequence),
            handled: Seq(first - 1),
            begun: (died && waiting > 0).then_some(Seq(first)),
            may_have_begun,
            // The server keeps this number when it is started again, and forgets those of leases.
            fence: record,
            was_ours,
        })
    }

    /// A server that was killed may bring messages back that it has deleted. This process knows which of them it has handled.
    async fn delete_again(&mut self, id: QueueId) -> Result<()> {
        let state = self.stream_state(id).await?;
        let (first, gone) = self.known.get(&id).map(|known| known.left.clone()).unwrap_or_default();
        let kept = self.queues.get(&id).map_or(0, |queue| queue.kept.number);
        let end = first.max(gone.end()).min(state.last_sequence + 1);
        // In most cases there is nothing else.
        let mut from = state.first_sequence + u64::from(kept == state.first_sequence);
        while from < end {
            let Some(stream) = self.queues.get(&id).map(|queue| queue.stream.clone()) else { return Ok(()) };
            let mut numbers = BTreeSet::new();
            let which = numbers_from(from);
            from = end;
            read(&stream, which, AGAIN, |_, number, _| {
                let has_left = number < first || gone.contains(number);
                if number < end && number != kept && has_left {
                    numbers.insert(number);
                }
                let has_more = number + 1 < end;
                if has_more && numbers.len() >= AGAIN {
                    from = number + 1;
                }
                has_more && numbers.len() < AGAIN
            })
            .await?;
            self.take_out(id, numbers).await?;
        }
        Ok(())
    }

    /// Messages up to this one may have been begun by an owner that died. If the last owner `died`, these are all: the server knows which
    /// messages have left the queue, and not which of the others were handled.
    pub(super) async fn may_have_begun(&self, id: QueueId, died: bool) -> Result<Seq> {
        let last = if died { self.stream_state(id).await?.last_sequence } else { 0 };
        loop {
            let known = self.last(&self.state, &of_begun(id)).await?;
            let (known, revision) =
                known.map_or((0, 0), |(payload, revision)| (decode_number(&payload), revision));
            if last <= known {
                return Ok(Seq(known));
            }
            let payload = Bytes::copy_from_slice(&last.to_le_bytes());
            self.put_after(&of_begun(id), payload, revision).await?;
        }
    }

    /// What is known about messages of a queue that have failed.
    pub(super) async fn charges(&self, id: QueueId) -> Result<HashMap<u64, Charge>> {
        let charges = last_messages(&self.state, self.subject(&format!("state.charge.{}.*", id.0)), 1).await?;
        let charges = charges.into_iter().filter_map(|(subject, payload, _)| {
            Some((last_number(&subject)?, Charge::decode(&mut Fields(&payload))))
        });
        Ok(charges.collect())
    }

    /// The last owner may have died between the two steps of a quarantine. Returns how many messages leave the queue.
    pub(super) async fn finish_quarantine(&mut self, id: QueueId) -> Result<u64> {
        let places = self.places(id).await?;
        let numbers: BTreeSet<u64> = places.iter().copied().map(before_quarantine).collect();
        let mut left = 0;
        for number in numbers {
            let message = MessageId { queue: id, seq: Seq(number) };
            if let Some(waiting) = self.waiting(message).await?
                && self.is_confined(message, &waiting, &places).await?
            {
                self.remove(id, BTreeSet::from([number])).await?;
                left += 1;
            }
        }
        Ok(left)
    }

    pub(super) fn terms(&self, id: QueueId) -> Terms {
        Terms {
            context: self.context.clone(),
            stream: self.lease.clone(),
            subject: self.subject(&format!("lease.{}", id.0)),
            owner: self.settings.token.clone(),
            length: self.settings.lease,
        }
    }

    /// Whether another process may own a queue. If that process has died, it has not renewed its lease for the length of the lease.
    pub(super) async fn is_held(
        &mut self,
        id: QueueId,
        present: Option<&(Bytes, u64)>,
        record: Option<&(Bytes, u64)>,
    ) -> Result<bool> {
        let is_ours = |(owner, _): &&(Bytes, u64)| owner.is_empty() || owner == self.settings.token.as_bytes();
        let is_free = match present {
            Some(held) => is_ours(&held),
            None => record.is_none_or(|record| is_ours(&record)),
        };
        if is_free {
            self.known.entry(id).or_default().holder = None;
            return Ok(false);
        }
        let said = self.said(present.map(|(_, revision)| *revision)).await?;
        let now = Instant::now();
        let seen = self.known.entry(id).or_default().holder.get_or_insert_with(|| Sighting::new(&said, now));
        Ok(!seen.is_over(&said, now, self.settings.lease))
    }

    /// What the server says about a lease whose number was just read.
    pub(super) async fn said(&self, present: Option<u64>) -> Result<Said> {
        let newest = match present {
            Some(present) => present,
            None => self.lease.get_info().await.map_err(broken)?.state.last_sequence,
        };
        Ok(Said { present, newest, server: self.client.server_info().server_id })
    }

    /// Takes the lease of a queue if no other process has it.
    async fn take_lease(&mut self, id: QueueId, name: &str) -> Result<Lease> {
        let present = self.last(&self.lease, &format!("lease.{}", id.0)).await?;
        let record = self.last(&self.state, &of_owner(id)).await?;
        if self.is_held(id, present.as_ref(), record.as_ref()).await? {
            return Err(has_an_owner(name));
        }
        let queue = self.queues.get_mut(&id).ok_or_else(|| broken("the queue is gone"))?;
        // Earlier renewals by this process end here.
        queue.owned = None;
        let stream = queue.stream.clone();
        let mut after = present.map_or(0, |(_, revision)| revision);
        let lease = loop {
            let terms = self.terms(id);
            let watch = Watch { queue: id, stream: stream.clone(), arrived: self.settings.arrived.clone() };
            match Lease::take(terms.clone(), after, watch).await {
                Ok(lease) => break lease,
                // Perhaps a renewal by this process was on its way, over an earlier connection.
                Err(NotTaken::HasAnOwner) => {
                    let own = terms.own().await.map_err(broken)?;
                    after = own.ok_or_else(|| has_an_owner(name))?;
                }
                Err(NotTaken::Failed(text)) => return Err(broken(text)),
            }
        };
        self.leases.hold(id, &lease);
        self.known.entry(id).or_default().holder = None;
        Ok(lease)
    }

    /// Whether this process owns a queue. A lease that has ended is taken again if no other process has owned the queue in the meantime.
    pub(super) async fn owns(&mut self, id: QueueId) -> Result<bool> {
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(false) };
        if let Some(joined) = &queue.joined {
            return if joined.lease.holds() { Ok(true) } else { self.join_again(id).await };
        }
        let name = queue.name.clone();
        let Some(owned) = queue.owned.take_if(|owned| !owned.lease.holds()) else {
            return Ok(queue.owned.is_some());
        };
        // If the lease cannot be asked for, the store is opened again, and then this is all that is left of the tally.
        self.known.entry(id).or_default().left = owned.tally.left();
        let lease = match self.take_lease(id, &name).await {
            Ok(lease) => lease,
            Err(error) if error.kind == StoreErrorKind::Claimed => {
                self.leases.lose(id);
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let record = self.last(&self.state, &of_owner(id)).await?;
        if record.is_none_or(|(owner, _)| owner != self.settings.token.as_bytes()) {
            self.leases.lose(id);
            // No process has the lease now, but another one has had it.
            return lease.release(self.terms(id)).await.map(|()| false).map_err(broken);
        }
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.owned = Some(Owned { lease, ..owned });
        }
        Ok(true)
    }

    /// Leaves a queue to the next owner.
    pub(super) async fn release(&mut self, id: QueueId) -> Result<()> {
        if self.queues.get(&id).is_some_and(|queue| queue.joined.is_some()) {
            return self.release_shared(id).await;
        }
        let owned = self.queues.get_mut(&id).and_then(|queue| queue.owned.take());
        self.leases.lose(id);
        let Some(owned) = owned.filter(|owned| owned.lease.holds()) else { return Ok(()) };
        // If that fails, another process owns the queue.
        self.put_after(&of_owner(id), Bytes::new(), owned.record).await?;
        owned.lease.release(self.terms(id)).await.map_err(broken)
    }
}
