//! Queues that several actors share, in this process or in others. The store says which messages belong to this process.
//!
//! Rule 27.19.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::outlet::Outlet;
use super::super::queue::{Fed, Seen, Wanted};
use super::super::store::{Room, Stored};
use super::{Change, Claim, Group, News, PAGE_BYTES, QueueId, Seq, StoreError, StoreErrorKind, Writer};

/// Messages for one owner.
pub(super) struct Fetched {
    pub(super) page: Vec<Stored>,
    pub(super) fed: Vec<Fed>,
}

fn not_shared() -> StoreError {
    StoreError::new(StoreErrorKind::Refused, "the store cannot share a queue among several actors")
}

impl Writer {
    /// Claims the queue of an owner, alone or with others.
    pub(super) async fn claim_for(&mut self, outlet: &Outlet) -> Result<Claim, StoreError> {
        if !outlet.settings.shared {
            return self.store.claim(&outlet.name).await;
        }
        self.store.shared().ok_or_else(not_shared)?.share(&outlet.name).await
    }

    /// The owners in this process of one queue. Only a shared queue has several.
    pub(super) fn owners_of(&self, queue: QueueId) -> Vec<u64> {
        self.queues.iter().filter(|(_, entry)| entry.id == queue).map(|(term, _)| *term).collect()
    }

    /// The store may have messages of a shared queue for its owners in this process.
    pub(super) fn look_at(&mut self, queue: QueueId) {
        for term in self.owners_of(queue) {
            if let Some(entry) = self.queues.get(&term) {
                entry.outlet.queue().look();
            }
            self.hungry.insert(term);
        }
    }

    /// Another process may have put messages into a shared queue, or may take what this one holds.
    pub(super) async fn arrived_in_shared(&mut self, queue: QueueId, term: u64) {
        let outlet = self.queues.get(&term).map(|entry| Arc::clone(&entry.outlet));
        // An owner without room takes nothing, but must still keep what it holds.
        if let Some(outlet) = outlet.filter(|outlet| !outlet.owns(term)) {
            match self.claim_for(&outlet).await {
                Ok(claim) if claim.was_ours => {}
                Ok(claim) => {
                    if let Some((outlet, recipient)) = self.forget(term) {
                        self.install(outlet, recipient, claim);
                    }
                }
                Err(error) if error.kind == StoreErrorKind::Broken => return self.outage(error.to_string()).await,
                Err(error) => return self.lose(term, &error),
            }
        }
        self.look_at(queue);
        for term in self.owners_of(queue) {
            let Some(entry) = self.queues.get(&term) else { continue };
            // Its senders wait for room, and others may have made some.
            if entry.outlet.is_full() && entry.outlet.queue().wants().is_none() {
                let wanted = Wanted { after: Seq(0), messages: 0 };
                match self.take(term, queue, wanted).await {
                    Ok(_) => {}
                    Err(error) if error.kind == StoreErrorKind::Refused => {}
                    Err(error) if error.kind == StoreErrorKind::Claimed => self.lose(term, &error),
                    Err(error) => return self.outage(error.to_string()).await,
                }
            }
        }
    }

    /// Takes messages of a shared queue for one of its owners.
    pub(super) async fn take(&mut self, term: u64, id: QueueId, wanted: Wanted) -> Result<Fetched, StoreError> {
        let owners = self.queues.values().filter(|entry| entry.id == id);
        let mut in_hand: BTreeSet<Seq> = BTreeSet::new();
        owners.for_each(|entry| in_hand.extend(entry.outlet.queue().hand()));
        let room = Room { messages: wanted.messages, bytes: PAGE_BYTES };
        let may_try = self.suspects.is_free(term);
        let store = self.store.shared().ok_or_else(not_shared)?;
        let taken = store.take(id, &in_hand, room, may_try).await?;
        let page = taken.messages;
        let seen: Vec<Seen> = page.iter().map(Stored::seen).collect();
        in_hand.extend(page.iter().map(|stored| stored.seq));
        let owners = self.queues.values().filter(|entry| entry.id == id);
        let ended: usize = owners.map(|entry| entry.outlet.queue().ended()).sum();
        for entry in self.queues.values_mut().filter(|entry| entry.id == id) {
            entry.is_starved = false;
            // Another process has the messages of these askers, so they get no answer.
            entry.askers.retain(|seq, _| *seq > taken.passed || in_hand.contains(seq));
            entry.outlet.recount(taken.waiting.saturating_sub(ended as u64));
            entry.outlet.set_fence(taken.fence);
        }
        let fed = self
            .queues
            .get(&term)
            .map(|entry| entry.outlet.queue().taken(&seen, taken.has_more, taken.has_suspects));
        Ok(Fetched { page, fed: fed.unwrap_or_default() })
    }

    /// The store cannot give messages of a shared queue now, because it has no room to note who holds them. The owner keeps what it has, and
    /// takes more when something has left the queue, or later. Returns false if the queue is not shared.
    pub(super) fn starves(&mut self, term: u64, error: &StoreError) -> bool {
        let Some(entry) = self.queues.get_mut(&term).filter(|entry| entry.outlet.settings.shared) else {
            return false;
        };
        if !std::mem::replace(&mut entry.is_starved, true) {
            self.listener.hear(News::Failed(error.to_string()));
        }
        true
    }

    /// These changes are durable. Until then, the store still had the messages that had ended.
    pub(super) fn forget_ended(&mut self, group: &Group) {
        let starved = self.queues.iter().filter(|(_, entry)| entry.is_starved);
        self.hungry.extend(starved.map(|(term, _)| *term));
        for change in &group.changes {
            if let Change::Handled(id) | Change::Quarantine { id, .. } = change {
                let owners = self.queues.values().filter(|entry| entry.id == id.queue);
                owners.for_each(|entry| entry.outlet.queue().forget_ended(id.seq));
            }
        }
    }

    /// An owner has nothing under way any more. Returns whether others in this process still own the queue.
    pub(super) fn leaves_others(&mut self, term: u64) -> bool {
        let Some(entry) = self.queues.get_mut(&term) else { return false };
        entry.is_leaving = true;
        let id = entry.id;
        self.queues.values().any(|entry| entry.id == id && !entry.is_leaving)
    }
}
