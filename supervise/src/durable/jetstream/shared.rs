//! Queues that several processes share. One record says who holds which messages, and each change of it is a compare-and-swap.
//!
//! Each process has a lease of its own. If it does not renew that lease, another one takes it out of the record, and everything that it
//! held is charged.
//!
//! Rule 27.19.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use bytes::Bytes;
use supervise_core::durable::lease::Sighting;
use supervise_core::durable::shares::{Shares, Wish};
use supervise_core::durable::{
    Claim, QueueId, Room, Seq, SharedQueues, StoreError, StoreErrorKind, StoreFuture, Stored, Taken,
};
use tokio::task::JoinSet;

use super::claim::{has_an_owner, of_owner};
use super::commit::delete;
use super::lease::{self, Lease, Terms, Watch};
use super::names::NAMED;
use super::open::Open;
use super::read::raw;
use super::record::{self, Charge, Fields, Record};
use super::{JetStreamStore, Result, broken};

/// After how many messages that have left the queue the record is written for them alone.
const ENDED: usize = 32;

/// What a process knows about a queue that it shares.
pub(super) struct Joined {
    pub(super) lease: Lease,
    /// The messages that have left the queue, and that the record may still have.
    ended: BTreeSet<Seq>,
    pub(super) charges: HashMap<u64, Charge>,
    /// When this process has last looked for members that have died.
    looked: Option<Instant>,
}

/// The record of a shared queue, and its number.
struct Shared {
    shares: Shares<String>,
    revision: u64,
}

impl SharedQueues for JetStreamStore {
    fn share<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim>> {
        Box::pin(async move { self.opened()?.share(queue).await })
    }

    fn take<'a>(
        &'a mut self,
        queue: QueueId,
        in_hand: &'a BTreeSet<Seq>,
        room: Room,
        may_try: bool,
    ) -> StoreFuture<'a, Result<Taken>> {
        Box::pin(async move { self.opened()?.take(queue, in_hand, room, may_try).await })
    }
}

impl Open {
    async fn share(&mut self, name: &str) -> Result<Claim> {
        let id = self.queue_named(name).await?;
        let state = self.stream_state(id).await?;
        self.is_complete(id, &state)?;
        self.wait_for_owner(id, name).await?;
        if !self.is_joined(id) {
            self.join(id).await?;
        }
        let me = self.settings.token.clone();
        let (was_ours, revision) = loop {
            let Shared { mut shares, revision } = self.shared(id).await?;
            let was_ours = shares.join(&me);
            // Also if nothing has changed: a process that has just found this one dead must look again.
            if let Some(revision) = self.put_shared(id, &shares, revision).await? {
                break (was_ours, revision);
            }
        };
        // A process may have claimed the queue alone at the same moment.
        if self.has_owner(id).await? {
            self.release(id).await?;
            return Err(has_an_owner(name));
        }
        Ok(Claim {
            queue: id,
            waiting: state.messages,
            last: Seq(state.last_sequence),
            handled: Seq(0),
            begun: None,
            fence: revision,
            was_ours,
        })
    }

    fn is_joined(&self, id: QueueId) -> bool {
        self.queues.get(&id).and_then(|queue| queue.joined.as_ref()).is_some_and(|joined| joined.lease.holds())
    }

    /// Fails while a process owns the queue alone. If that process has died, it does not own the queue any more.
    async fn wait_for_owner(&mut self, id: QueueId, name: &str) -> Result<()> {
        let present = self.last(&self.lease, &format!("lease.{}", id.0)).await?;
        let record = self.last(&self.state, &of_owner(id)).await?;
        if self.is_held(id, present.as_ref(), record.as_ref()).await? {
            return Err(has_an_owner(name));
        }
        if let Some((owner, revision)) = record
            && !owner.is_empty()
        {
            self.put_after(&of_owner(id), Bytes::new(), revision).await?.ok_or_else(|| has_an_owner(name))?;
        }
        Ok(())
    }

    async fn has_owner(&self, id: QueueId) -> Result<bool> {
        Ok(self.last(&self.state, &of_owner(id)).await?.is_some_and(|(owner, _)| !owner.is_empty()))
    }

    /// Takes a lease for this process.
    async fn join(&mut self, id: QueueId) -> Result<()> {
        let charges = self.charges(id).await?;
        let queue = self.queues.get_mut(&id).ok_or_else(|| broken("the queue is gone"))?;
        // Earlier renewals by this process end here.
        queue.joined = None;
        let stream = queue.stream.clone();
        let lease = loop {
            let present = self.last(&self.lease, &of_member(id, &self.settings.token)).await?;
            let watch = Watch { queue: id, stream: stream.clone(), arrived: self.settings.arrived.clone() };
            let after = present.map_or(0, |(_, revision)| revision);
            match Lease::take(self.member_terms(id), after, watch).await {
                Ok(lease) => break lease,
                // A renewal of this process was on its way.
                Err(lease::Taken::Yes) => {}
                Err(lease::Taken::Failed(text)) => return Err(broken(text)),
            }
        };
        self.leases.hold(id, &lease);
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.joined = Some(Joined { lease, ended: BTreeSet::new(), charges, looked: None });
        }
        Ok(())
    }

    /// The lease of this process has ended. If nobody has noticed it, this process takes it again, and holds what it held.
    pub(super) async fn join_again(&mut self, id: QueueId) -> Result<bool> {
        let me = self.settings.token.clone();
        let ended = self.joined(id).map(|joined| std::mem::take(&mut joined.ended)).unwrap_or_default();
        self.leases.lose(id);
        self.join(id).await?;
        if let Some(joined) = self.joined(id) {
            joined.ended = ended;
        }
        loop {
            let Shared { shares, revision } = self.shared(id).await?;
            if !shares.members().contains_key(&me) {
                self.leave(id);
                return Ok(false);
            }
            if self.put_shared(id, &shares, revision).await?.is_some() {
                return Ok(true);
            }
        }
    }

    fn member_terms(&self, id: QueueId) -> Terms {
        let subject = self.subject(&of_member(id, &self.settings.token));
        Terms { subject, ..self.terms(id) }
    }

    async fn take(&mut self, id: QueueId, in_hand: &BTreeSet<Seq>, room: Room, may_try: bool) -> Result<Taken> {
        let me = self.settings.token.clone();
        loop {
            if !self.owns(id).await? {
                return Err(self.not_ours(id));
            }
            let state = self.stream_state(id).await?;
            self.is_complete(id, &state)?;
            let Shared { mut shares, revision } = self.shared(id).await?;
            if !shares.members().contains_key(&me) {
                self.leave(id);
                return Err(self.not_ours(id));
            }
            let has_buried = self.bury(id, &mut shares).await?;
            let Some(joined) = self.joined(id) else { return Err(self.not_ours(id)) };
            shares.ended(&me, &joined.ended);
            let must_write = has_buried || joined.ended.len() >= ENDED;
            let next = shares.next();
            let purged = state.first_sequence.saturating_sub(next.0);
            let first = if state.messages == 0 { state.last_sequence + 1 } else { state.first_sequence };
            let wish =
                Wish { in_hand, room: room.messages, may_try, first: Seq(first), last: Seq(state.last_sequence) };
            let given = shares.take(&me, wish);
            let mut fence = revision;
            if must_write || !given.is_empty() {
                // If another process has changed the record, this one decides anew.
                let Some(revision) = self.put_shared(id, &shares, revision).await? else { continue };
                fence = revision;
                if let Some(joined) = self.joined(id) {
                    joined.ended.clear();
                }
            }
            // A message that nobody has held was not handled.
            if purged > 0 && revision > 0 && !given.is_empty() {
                return Err(self.has_lost(id, purged, (next.0..state.first_sequence).take(NAMED).collect()));
            }
            let messages = self.given(id, &shares, &given, next).await?;
            let gone = given.len() > messages.len();
            if gone && messages.is_empty() {
                continue;
            }
            return Ok(Taken {
                passed: Seq(shares.next().0 - 1),
                has_more: gone || given.len() >= room.messages || has_buried,
                has_suspects: shares.has_suspects(&me, &(in_hand | &given)),
                waiting: state.messages,
                messages,
                fence,
            });
        }
    }

    fn joined(&mut self, id: QueueId) -> Option<&mut Joined> {
        self.queues.get_mut(&id)?.joined.as_mut()
    }

    fn not_ours(&self, id: QueueId) -> StoreError {
        let name = self.queues.get(&id).map_or("", |queue| queue.name.as_str());
        let text = format!("this process does not share the queue {name} any more");
        StoreError::new(StoreErrorKind::Claimed, text)
    }

    /// This process is not a member any more.
    fn leave(&mut self, id: QueueId) {
        self.leases.lose(id);
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.joined = None;
        }
    }

    /// Takes members that have died out of the record. Returns whether there were any.
    async fn bury(&mut self, id: QueueId, shares: &mut Shares<String>) -> Result<bool> {
        let now = Instant::now();
        let length = self.settings.lease;
        if let Some(joined) = self.joined(id) {
            if joined.looked.is_some_and(|looked| now < looked + length / 3) {
                return Ok(false);
            }
            joined.looked = Some(now);
        }
        let others: Vec<String> =
            shares.members().keys().filter(|member| **member != self.settings.token).cloned().collect();
        self.known.entry(id).or_default().members.retain(|member, _| others.contains(member));
        let mut has_buried = false;
        for member in others {
            let present = self.last(&self.lease, &of_member(id, &member)).await?.map(|(_, revision)| revision);
            let said = self.said(present).await?;
            let now = Instant::now();
            let members = &mut self.known.entry(id).or_default().members;
            let seen = members.entry(member.clone()).or_insert_with(|| Sighting::new(&said, now));
            if seen.is_over(&said, now, length) {
                shares.died(&member);
                has_buried = true;
            }
        }
        Ok(has_buried)
    }

    /// Whether living processes share the queue.
    pub(super) async fn is_shared(&mut self, id: QueueId) -> Result<bool> {
        loop {
            let Shared { mut shares, revision } = self.shared(id).await?;
            if self.bury(id, &mut shares).await? && self.put_shared(id, &shares, revision).await?.is_none() {
                continue;
            }
            return Ok(!shares.members().is_empty());
        }
    }

    /// How many other processes share the queue, if the record is true.
    pub(super) async fn sharers(&self, id: QueueId) -> Result<usize> {
        let shares = self.shared(id).await?.shares;
        Ok(shares.members().keys().filter(|member| **member != self.settings.token).count())
    }

    /// The messages that were given to this process. What is not in the stream any more has ended.
    async fn given(
        &mut self,
        id: QueueId,
        shares: &Shares<String>,
        given: &BTreeSet<Seq>,
        next: Seq,
    ) -> Result<Vec<Stored>> {
        let Some(queue) = self.queues.get(&id) else { return Ok(Vec::new()) };
        let mut reads = JoinSet::new();
        for seq in given.iter().copied() {
            let stream = queue.stream.clone();
            reads.spawn(async move { (seq, raw(&stream, seq).await) });
        }
        let mut found = BTreeMap::new();
        while let Some(read) = reads.join_next().await {
            let (seq, payload) = read.map_err(broken)?;
            found.insert(seq, payload?);
        }
        let mut messages = Vec::new();
        for (seq, payload) in found {
            if seq < next {
                // Another process may have charged it.
                let charge = self.last(&self.state, &of_charge(id, seq.0)).await?;
                if let (Some((charge, _)), Some(joined)) = (charge, self.joined(id)) {
                    joined.charges.insert(seq.0, Charge::decode(&mut Fields(&charge)));
                }
            }
            let Some(joined) = self.joined(id) else { continue };
            let Some(payload) = payload else {
                joined.ended.insert(seq);
                continue;
            };
            let charge = joined.charges.get(&seq.0).cloned().unwrap_or_default();
            let stored = record::decode(seq.0, &payload, charge);
            messages.push(Stored { crashes: stored.crashes.max(shares.crashes(seq)), ..stored });
        }
        Ok(messages)
    }

    /// Deletes messages of a shared queue, if this process still holds what it held.
    pub(super) async fn remove_shared(&mut self, id: QueueId, numbers: BTreeSet<u64>) -> Result<()> {
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(()) };
        let Some(joined) = &mut queue.joined else { return Ok(()) };
        let mut deletes = JoinSet::new();
        let mut charged = Vec::new();
        for number in numbers {
            joined.ended.insert(Seq(number));
            charged.extend(joined.charges.remove(&number).map(|_| number));
            let stream = queue.stream.clone();
            deletes.spawn(async move { delete(&stream, number).await });
        }
        while let Some(deleted) = deletes.join_next().await {
            deleted.map_err(broken)??;
        }
        for number in charged {
            self.forget(&self.state, &of_charge(id, number)).await?;
        }
        Ok(())
    }

    /// Leaves a shared queue to the others.
    pub(super) async fn release_shared(&mut self, id: QueueId) -> Result<()> {
        let terms = self.member_terms(id);
        self.leases.lose(id);
        let joined = self.queues.get_mut(&id).and_then(|queue| queue.joined.take());
        let Some(joined) = joined.filter(|joined| joined.lease.holds()) else { return Ok(()) };
        let me = self.settings.token.clone();
        loop {
            let Shared { mut shares, revision } = self.shared(id).await?;
            shares.ended(&me, &joined.ended);
            shares.leave(&me);
            if self.put_shared(id, &shares, revision).await?.is_some() {
                break;
            }
        }
        joined.lease.release(terms).await.map_err(broken)?;
        // The others look for what it has left.
        self.notify(id, 0).await;
        Ok(())
    }

    async fn shared(&self, id: QueueId) -> Result<Shared> {
        match self.last(&self.state, &of_shared(id)).await? {
            None => Ok(Shared { shares: Shares::default(), revision: 0 }),
            Some((payload, revision)) => {
                let shares = decode(&payload).ok_or_else(|| broken("the record of a shared queue is damaged"))?;
                Ok(Shared { shares, revision })
            }
        }
    }

    async fn put_shared(&self, id: QueueId, shares: &Shares<String>, after: u64) -> Result<Option<u64>> {
        self.put_after(&of_shared(id), encode(shares), after).await
    }
}

pub(super) fn of_shared(id: QueueId) -> String {
    format!("state.shared.{}", id.0)
}

fn of_charge(id: QueueId, number: u64) -> String {
    format!("state.charge.{}.{number}", id.0)
}

fn of_member(id: QueueId, member: &str) -> String {
    format!("lease.{}.{member}", id.0)
}

fn numbers<'a>(seqs: impl IntoIterator<Item = &'a Seq>) -> Vec<u8> {
    seqs.into_iter().flat_map(|seq| seq.0.to_le_bytes()).collect()
}

fn seqs(bytes: &[u8]) -> BTreeSet<Seq> {
    bytes.as_chunks().0.iter().map(|bytes| Seq(u64::from_le_bytes(*bytes))).collect()
}

fn encode(shares: &Shares<String>) -> Bytes {
    let mut record = Record::default().number(shares.next().0).bytes(&numbers(shares.free()));
    record = record.number(shares.charged().len() as u64);
    for (seq, crashes) in shares.charged() {
        record = record.number(seq.0).number((*crashes).into());
    }
    for (member, held) in shares.members() {
        record = record.bytes(member.as_bytes()).bytes(&numbers(held));
    }
    record.end()
}

fn decode(payload: &[u8]) -> Option<Shares<String>> {
    let mut fields = Fields(payload);
    let next = Seq(fields.number()?);
    let free = seqs(fields.next()?);
    let mut crashes = BTreeMap::new();
    for _ in 0..fields.number()? {
        crashes.insert(Seq(fields.number()?), u32::try_from(fields.number()?).ok()?);
    }
    let mut held = BTreeMap::new();
    while let Some(member) = fields.next() {
        held.insert(String::from_utf8(member.to_vec()).ok()?, seqs(fields.next()?));
    }
    Some(Shares::from_parts(next, free, held, crashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was() {
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let mut shares = Shares::default();
        assert_eq!(decode(&encode(&shares)), Some(shares.clone()));
        shares.join(&a);
        shares.join(&b);
        let wish = Wish { in_hand: &BTreeSet::new(), room: 3, may_try: true, first: Seq(1), last: Seq(9) };
        assert_eq!(shares.take(&a, wish).len() + shares.take(&b, wish).len(), 6);
        shares.died(&a);
        assert_eq!(decode(&encode(&shares)), Some(shares));
        assert_eq!(decode(b"nonsense"), None);
    }
}
