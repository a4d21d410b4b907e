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
    Claim, MessageId, QueueId, Room, Seq, SharedQueues, StoreError, StoreErrorKind, StoreFuture, Stored, Taken,
};

use super::claim::{has_an_owner, of_owner};
use super::handled::{delete, few_at_once};
use super::lease::{self, Lease, Terms, Watch};
use super::names::{NAMED, of_charge};
use super::open::Open;
use super::read::raw;
use super::record::{self, Charge, Fields};
use super::shares::{decode, encode};
use super::{JetStreamStore, Result, broken};

/// After how many messages that have left the queue the record is written for them alone.
const ENDED: usize = 32;

/// What a process knows about a queue that it shares.
pub(super) struct Joined {
    pub(super) lease: Lease,
    /// The messages that have left the queue, and that the record may still have.
    pub(super) ended: BTreeSet<Seq>,
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
        let mut state = self.stream_state(id).await?;
        if self.check_open(id, &state).await? {
            // Only the owner of a queue may lift its fence.
            self.claim(name).await?;
            self.release(id).await?;
            state = self.stream_state(id).await?;
        }
        self.check_complete(id, &state).await?;
        // A member stays one, also while another process asks for the queue alone.
        let stays = if self.is_member(id).await? { self.stay(id).await? } else { None };
        let was_ours = stays.is_some();
        let revision = match stays {
            Some(revision) => revision,
            None => self.enter(id, name).await?,
        };
        let may_have_begun = self.may_have_begun(id, false).await?;
        self.read_kept(id).await?;
        // A server that was killed may have brought these back.
        let ended: BTreeSet<u64> =
            self.joined(id).into_iter().flat_map(|joined| &joined.ended).map(|seq| seq.0).collect();
        let state = if ended.is_empty() {
            state
        } else {
            self.take_out(id, ended).await?;
            self.stream_state(id).await?
        };
        Ok(Claim {
            queue: id,
            waiting: self.waiting_in(id, &state).await?.messages,
            last: Seq(state.last_sequence),
            handled: Seq(0),
            begun: None,
            may_have_begun,
            fence: revision,
            was_ours,
        })
    }

    async fn is_member(&self, id: QueueId) -> Result<bool> {
        Ok(self.shared(id).await?.shares.members().contains_key(&self.settings.token))
    }

    /// This process is a member, and holds what it held. Returns the number of the record, or `None` if others have found this process dead.
    async fn stay(&mut self, id: QueueId) -> Result<Option<u64>> {
        if !self.is_joined(id) {
            self.join(id).await?;
        }
        loop {
            let Shared { shares, revision } = self.shared(id).await?;
            if !shares.members().contains_key(&self.settings.token) {
                return Ok(None);
            }
            // Written even if nothing has changed, so that a process that has just found this one dead looks again.
            if let Some(revision) = self.put_shared(id, &shares, revision).await? {
                return Ok(Some(revision));
            }
        }
    }

    /// This process becomes a member. Returns the number of the record.
    async fn enter(&mut self, id: QueueId, name: &str) -> Result<u64> {
        let dead = self.wait_for_owner(id, name).await?;
        if !self.is_joined(id) {
            self.join(id).await?;
        }
        if dead.is_some() {
            self.reserve.may_be_spent();
            self.may_have_begun(id, true).await?;
            self.finish_quarantine(id).await?;
        }
        let me = self.settings.token.clone();
        let revision = loop {
            let Shared { mut shares, revision } = self.shared(id).await?;
            self.read_kept(id).await?;
            let state = self.stream_state(id).await?;
            self.check_kept(id, &state).await?;
            // The stream has come back from a backup that is older than the record.
            if shares.next().0 > state.last_sequence + 1 {
                delete(&self.state, revision).await?;
                continue;
            }
            let waiting = self.waiting_in(id, &state).await?;
            let known = self.joined(id).map(|joined| joined.charges.clone()).unwrap_or_default();
            let crashes = known.into_iter().map(|(number, charge)| (Seq(number), charge.crashes));
            let begun = (dead.is_some() && waiting.messages > 0).then_some(waiting.first);
            shares.begin(waiting.first, crashes, begun);
            shares.join(&me);
            if let Some(revision) = self.put_shared(id, &shares, revision).await? {
                break revision;
            }
        };
        // What the owner died with is charged; if this fails, another process has charged it.
        if let Some(dead) = dead {
            self.put_after(&of_owner(id), Bytes::new(), dead).await?;
        }
        // A process may have claimed the queue alone at the same moment.
        if self.has_owner(id).await? {
            self.release(id).await?;
            return Err(has_an_owner(name));
        }
        Ok(revision)
    }

    fn is_joined(&self, id: QueueId) -> bool {
        self.queues.get(&id).and_then(|queue| queue.joined.as_ref()).is_some_and(|joined| joined.lease.holds())
    }

    /// Fails while a process owns the queue alone. If that process has died, returns the number of its record.
    async fn wait_for_owner(&mut self, id: QueueId, name: &str) -> Result<Option<u64>> {
        let present = self.last(&self.lease, &format!("lease.{}", id.0)).await?;
        let record = self.last(&self.state, &of_owner(id)).await?;
        if self.is_held(id, present.as_ref(), record.as_ref()).await? {
            return Err(has_an_owner(name));
        }
        Ok(record.filter(|(owner, _)| !owner.is_empty()).map(|(_, revision)| revision))
    }

    async fn has_owner(&self, id: QueueId) -> Result<bool> {
        Ok(self.last(&self.state, &of_owner(id)).await?.is_some_and(|(owner, _)| !owner.is_empty()))
    }

    /// Takes a lease for this process.
    async fn join(&mut self, id: QueueId) -> Result<()> {
        let charges = self.charges(id).await?;
        self.leases.lose(id);
        let queue = self.queues.get_mut(&id).ok_or_else(|| broken("the queue is gone"))?;
        // Earlier renewals by this process end here.
        let mut ended = queue.joined.take().map(|joined| joined.ended).unwrap_or_default();
        ended.extend(self.known.get_mut(&id).map(|known| std::mem::take(&mut known.ended)).unwrap_or_default());
        let stream = queue.stream.clone();
        let lease = loop {
            let present = self.last(&self.lease, &of_member(id, &self.settings.token)).await?;
            let watch = Watch { queue: id, stream: stream.clone(), arrived: self.settings.arrived.clone() };
            let after = present.map_or(0, |(_, revision)| revision);
            match Lease::take(self.member_terms(id), after, watch).await {
                Ok(lease) => break lease,
                // A renewal of this process was on its way.
                Err(lease::NotTaken::HasAnOwner) => {}
                Err(lease::NotTaken::Failed(text)) => return Err(broken(text)),
            }
        };
        self.leases.hold(id, &lease);
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.joined = Some(Joined { lease, ended, charges, looked: None });
        }
        Ok(())
    }

    /// The lease of this process has ended. If nobody has noticed it, this process takes it again, and holds what it held.
    pub(super) async fn join_again(&mut self, id: QueueId) -> Result<bool> {
        let stays = self.stay(id).await?.is_some();
        if !stays {
            self.leave(id);
        }
        Ok(stays)
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
            self.check_still_fit(id, &state)?;
            self.check_complete(id, &state).await?;
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
            self.read_kept(id).await?;
            let waiting = self.waiting_in(id, &state).await?;
            let last = Seq(state.last_sequence);
            let wish = Wish { in_hand, room: room.messages, may_try, first: waiting.first, last };
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
                return Err(self.note_lost(id, purged, (next.0..state.first_sequence).take(NAMED).collect()));
            }
            let messages = self.given(id, &shares, &given, next).await?;
            let gone = given.len() > messages.len();
            if gone && messages.is_empty() {
                continue;
            }
            return Ok(Taken {
                passed: shares.passed(),
                has_more: gone || given.len() >= room.messages || has_buried,
                has_suspects: shares.has_suspects(&me, &(in_hand | &given)),
                waiting: waiting.messages,
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
                self.reserve.may_be_spent();
                has_buried = true;
            }
        }
        Ok(has_buried)
    }

    /// If no living process shares the queue, with which messages others have died, and how often.
    pub(super) async fn left_by_sharers(&mut self, id: QueueId) -> Result<Option<BTreeMap<Seq, u32>>> {
        loop {
            let Shared { mut shares, revision } = self.shared(id).await?;
            if self.bury(id, &mut shares).await? && self.put_shared(id, &shares, revision).await?.is_none() {
                continue;
            }
            return Ok(shares.members().is_empty().then(|| shares.charged().clone()));
        }
    }

    /// How many other processes share the queue, and have leases.
    pub(super) async fn sharers(&self, id: QueueId) -> Result<usize> {
        let shares = self.shared(id).await?.shares;
        let mut living = 0;
        for member in shares.members().keys().filter(|member| **member != self.settings.token) {
            let lease = self.last(&self.lease, &of_member(id, member)).await?;
            living += usize::from(lease.is_some_and(|(owner, _)| !owner.is_empty()));
        }
        Ok(living)
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
        let stream = queue.stream.clone();
        let read = |seq: Seq| {
            let stream = stream.clone();
            async move { raw(&stream, seq).await.map(|payload| (seq, payload)) }
        };
        let found: BTreeMap<_, _> = few_at_once(given.iter().copied().map(read)).await?.into_iter().collect();
        let may_be_confined = found.keys().any(|seq| shares.crashes(*seq) > 0);
        let places = if may_be_confined { self.places(id).await? } else { Vec::new() };
        let mut messages = Vec::new();
        for (seq, payload) in found {
            if seq < next {
                // Another process may have charged it.
                let charge = self.last(&self.state, &of_charge(id, seq.0)).await?;
                if let (Some((charge, _)), Some(joined)) = (charge, self.joined(id)) {
                    joined.charges.insert(seq.0, Charge::decode(&mut Fields(&charge)));
                }
            }
            let payload = match payload {
                // Its member may have died when it was handled.
                Some(_) if self.queues.get(&id).is_some_and(|queue| queue.kept.number == seq.0) => None,
                // Its member may have died between the two steps of a quarantine.
                Some(payload)
                    if shares.crashes(seq) > 0
                        && self
                            .is_confined(
                                MessageId { queue: id, seq },
                                &record::decode(seq.0, &payload, Charge::default()),
                                &places,
                            )
                            .await? =>
                {
                    self.take_out(id, BTreeSet::from([seq.0])).await?;
                    None
                }
                payload => payload,
            };
            let Some(joined) = self.joined(id) else { continue };
            let Some(payload) = payload else {
                joined.ended.insert(seq);
                if joined.charges.remove(&seq.0).is_some() {
                    self.forget(&self.state, &of_charge(id, seq.0)).await?;
                }
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
        joined.ended.extend(numbers.iter().copied().map(Seq));
        let is_charged = |number: &u64| joined.charges.remove(number).is_some();
        let charged: Vec<u64> = numbers.iter().copied().filter(is_charged).collect();
        self.take_out(id, numbers).await?;
        for number in charged {
            self.forget(&self.state, &of_charge(id, number)).await?;
        }
        Ok(())
    }

    /// Leaves a shared queue to the others.
    pub(super) async fn release_shared(&mut self, id: QueueId) -> Result<()> {
        let terms = self.member_terms(id);
        self.leases.lose(id);
        // If the lease has ended and nobody has noticed it, this process still holds its messages.
        let Some(joined) = self.queues.get_mut(&id).and_then(|queue| queue.joined.take()) else { return Ok(()) };
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

fn of_member(id: QueueId, member: &str) -> String {
    format!("lease.{}.{member}", id.0)
}
