//! A store in memory whose calls fail when a test says so, and lives of processes that share it.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use supervise::durable::{
    Appended, Arrived, Change, Claim, CommitError, Group, Marks, MemoryStore, MessageStore, Opened, Owner,
    Quarantined, QueueId, QueueRow, Room, Seq, StoreError, StoreErrorKind, StoreFuture, Stored,
};
use supervise::prelude::*;

/// The faults of the store, and what the store has been told. Shared with the test.
#[expect(clippy::struct_excessive_bools, reason = "each of them is one thing that goes wrong")]
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// How many of the next groups are lost: they are not stored, and the store says that their outcome is unknown.
    pub(crate) lost_groups: u32,
    /// The messages of lost groups are stored all the same.
    pub(crate) stores_lost: bool,
    /// A group that has one of these changes is lost, once.
    pub(crate) loses: Option<fn(&Change) -> bool>,
    /// Groups that append messages find no room.
    pub(crate) is_full: bool,
    /// How many of the next claims fail.
    pub(crate) lost_claims: u32,
    /// How many of the next claims fail although the store keeps working. Their queues have no owner.
    pub(crate) late_claims: u32,
    /// Claims of this queue fail, although the store keeps working.
    pub(crate) unclaimable: Option<&'static str>,
    /// Only messages that have left their queue count as handled, as on NATS.
    pub(crate) has_no_marks: bool,
    /// Another process owns all queues.
    pub(crate) is_taken: bool,
    /// It has owned them since they were claimed.
    was_taken: bool,
    /// Whether this process owns its queues is not sure until it reads them.
    pub(crate) has_lapsed: bool,
    /// How much longer than a moment messages have been in quarantine.
    pub(crate) age: Duration,
    /// This message of a page cannot be trusted.
    pub(crate) damaged: Option<Seq>,
    /// Queues that an owner has claimed and not released since the store was opened.
    claimed: BTreeSet<String>,
    /// Queues that no durable group has named. They are gone when the store is opened again.
    undurable: Vec<(QueueId, String)>,
    must_open: bool,
}

/// The store. It refuses to work after a failure until it is opened again, and a queue has one owner.
#[derive(Clone, Default)]
pub(crate) struct Stumbling {
    memory: MemoryStore,
    script: Arc<Mutex<Script>>,
    arrived: Arc<Mutex<Option<Arrived>>>,
}

/// Notes of which handlers run, and whether they may.
struct Notes {
    marks: Arc<dyn Marks>,
    script: Arc<Mutex<Script>>,
}

impl Marks for Notes {
    fn begun(&self, queue: QueueId, seq: Seq, handled: Seq) {
        self.marks.begun(queue, seq, handled);
    }

    fn idle(&self, queue: QueueId, handled: Seq) {
        self.marks.idle(queue, handled);
    }

    fn owns(&self, _: QueueId) -> bool {
        let script = self.script.lock().expect("nobody panics with it");
        !script.is_taken && !script.has_lapsed
    }
}

impl Stumbling {
    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("nobody panics with it")
    }

    /// Lets a process live until `life` ends, and then lets it die.
    pub(crate) fn process<T, F: Future<Output = T>>(&self, life: impl FnOnce(ActorSystem) -> F) -> T {
        *self.script() = Script::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.expect("a runtime can be made");
        runtime.block_on(async {
            let system = ActorSystem::builder("shop").store(self.clone()).start().expect("the name is valid");
            life(system).await
        })
    }

    /// What another process does to the first queue.
    pub(crate) async fn elsewhere(&self, changes: Vec<Change>) {
        self.memory.clone().commit(&Group { changes }).await.expect("a store in memory works");
    }

    /// Tells this process that another one has given a number in a queue.
    pub(crate) fn arrives(&self, queue: QueueId, last: Seq) {
        let arrived = self.arrived.lock().expect("nobody panics with it").clone();
        arrived.expect("a process runs")(queue, last);
    }

    /// Another process takes all queues.
    pub(crate) fn is_taken(&self) {
        let mut script = self.script();
        (script.is_taken, script.was_taken) = (true, true);
        script.claimed.clear();
    }

    fn owns(&self) -> Result<(), StoreError> {
        if self.script().is_taken {
            return Err(StoreError::new(StoreErrorKind::Claimed, "another process has the queue"));
        }
        Ok(())
    }

    fn is_open(&self) -> Result<(), StoreError> {
        if self.script().must_open {
            return Err(StoreError::new(StoreErrorKind::Broken, "it must be opened again"));
        }
        Ok(())
    }

    fn failure(&self, group: &Group) -> Option<CommitError> {
        let mut script = self.script();
        if script.must_open {
            return Some(CommitError::Unknown("it must be opened again".to_owned()));
        }
        if script.is_full && group.changes.iter().any(|change| matches!(change, Change::Append(_))) {
            return Some(CommitError::Full("the test has filled the store".to_owned()));
        }
        let is_lost = script.loses.is_some_and(|loses| group.changes.iter().any(loses));
        if is_lost {
            script.loses = None;
        } else {
            script.lost_groups = script.lost_groups.checked_sub(1)?;
        }
        script.must_open = true;
        Some(CommitError::Unknown("the test has lost the group".to_owned()))
    }
}

/// The messages of a group, without its other changes.
fn appends(group: &Group) -> Group {
    let appends = group.changes.iter().filter(|change| matches!(change, Change::Append(_)));
    Group { changes: appends.cloned().collect() }
}

impl MessageStore for Stumbling {
    fn open<'a>(&'a mut self, owner: &'a Owner) -> StoreFuture<'a, Result<Opened, StoreError>> {
        Box::pin(async move {
            let opened = self.memory.open(owner).await?;
            let undurable = {
                let mut script = self.script();
                script.must_open = false;
                script.claimed.clear();
                std::mem::take(&mut script.undurable)
            };
            let changes = undurable.into_iter().map(|(_, name)| Change::DiscardQueue(name)).collect();
            self.memory.commit(&Group { changes }).await.expect("a store in memory works");
            let marks = Arc::new(Notes { marks: opened.marks, script: Arc::clone(&self.script) });
            Ok(Opened { marks, ..opened })
        })
    }

    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>> {
        Box::pin(async move {
            self.is_open()?;
            self.owns()?;
            {
                let mut script = self.script();
                if let Some(left) = script.lost_claims.checked_sub(1) {
                    script.lost_claims = left;
                    script.must_open = true;
                    return Err(StoreError::new(StoreErrorKind::Broken, "the test has lost the claim"));
                }
                if let Some(left) = script.late_claims.checked_sub(1) {
                    script.late_claims = left;
                    return Err(StoreError::new(StoreErrorKind::Broken, "the claim took too long"));
                }
                if script.unclaimable == Some(queue) {
                    return Err(StoreError::new(StoreErrorKind::Broken, "this queue cannot be claimed"));
                }
                if !script.claimed.insert(queue.to_owned()) {
                    return Err(StoreError::new(StoreErrorKind::Claimed, "the queue has an owner"));
                }
            }
            let is_new = self.memory.queues().await?.iter().all(|row| row.name != queue);
            let claim = self.memory.claim(queue).await?;
            let mut claim = Claim { was_ours: !std::mem::take(&mut self.script().was_taken), ..claim };
            if self.script().has_no_marks {
                claim.handled = Seq(0);
            }
            if is_new {
                self.script().undurable.push((claim.queue, queue.to_owned()));
            }
            Ok(claim)
        })
    }

    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>> {
        Box::pin(async move {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            if let Some(error) = self.failure(group) {
                if self.script().stores_lost {
                    self.memory.commit(&appends(group)).await?;
                }
                return Err(error);
            }
            if self.owns().is_err() {
                // Whatever the last owner says changes nothing.
                return self.memory.commit(&appends(group)).await;
            }
            let names = self.memory.queues().await.expect("a store in memory works");
            let has_owner = |queue| {
                let script = self.script();
                names.iter().any(|row| row.queue == queue && script.claimed.contains(&row.name))
            };
            // Nobody has handled a message of a queue without an owner.
            let counts = |change: &&Change| !matches!(change, Change::Handled(id) if !has_owner(id.queue));
            let group = &Group { changes: group.changes.iter().filter(counts).cloned().collect() };
            for change in &group.changes {
                let mut script = self.script();
                match change {
                    Change::Append(append) => script.undurable.retain(|(queue, _)| *queue != append.queue),
                    Change::Release(queue) => {
                        script.undurable.retain(|(undurable, _)| undurable != queue);
                        if let Some(row) = names.iter().find(|row| row.queue == *queue) {
                            script.claimed.remove(&row.name);
                        }
                    }
                    _ => {}
                }
            }
            self.memory.commit(group).await
        })
    }

    fn page(
        &mut self,
        queue: QueueId,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'_, Result<Vec<Stored>, StoreError>> {
        Box::pin(async move {
            self.is_open()?;
            self.owns()?;
            self.script().has_lapsed = false;
            let rows = self.memory.queues().await?;
            if !rows.iter().any(|row| row.queue == queue && self.script().claimed.contains(&row.name)) {
                return Err(StoreError::new(StoreErrorKind::Claimed, "the queue has no owner"));
            }
            let mut page = self.memory.page(queue, after, room).await?;
            let damaged = self.script().damaged;
            for stored in &mut page {
                stored.is_damaged |= damaged == Some(stored.seq);
            }
            Ok(page)
        })
    }

    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>, StoreError>> {
        self.memory.queues()
    }

    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>, StoreError>> {
        let age = self.script().age;
        Box::pin(async move {
            let mut quarantined = self.memory.quarantined(queue, after, room).await?;
            for one in &mut quarantined {
                one.since -= age;
            }
            Ok(quarantined)
        })
    }

    fn listen(&mut self, arrived: Arrived) {
        *self.arrived.lock().expect("nobody panics with it") = Some(arrived);
    }

    fn close(self: Box<Self>) -> StoreFuture<'static, Result<(), StoreError>> {
        Box::new(self.memory).close()
    }
}
