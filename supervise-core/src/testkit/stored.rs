//! A message store on the test's clock, and crashes of the process and of the machine.
//!
//! Rules 27.6 and 27.13.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::TestSystem;
use crate::actor::ActorSystem;
use crate::durable::{
    Appended, Change, Claim, CommitError, Fate, Group, MemoryStore, MessageId, MessageStore, Opened, Owner,
    Quarantined, QueueId, QueueRow, Room, Seq, SharedQueues, Store, StoreError, StoreErrorKind, StoreFuture,
    Stored,
};
use crate::observe::Event;

/// How long a group takes.
const GROUP: Duration = Duration::from_millis(1);

/// How a process ends without ending its system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The process dies, and the machine keeps running: the store has everything that was committed, and the marks
    /// of the messages that were under way.
    Process,
    /// The machine stops: the store has everything that was committed, and the marks of the last clean end.
    Power,
}

/// What is wrong with the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It has no room for messages, until it is [released](TestStore::release).
    Full,
    /// The next group is stored, and the store says that it does not know.
    Sync,
    /// It cannot be used or opened, until it is [released](TestStore::release).
    Down,
}

/// The store of a system under test: its queues and its quarantine, as any [`Store`] has them, and the faults that it may have.
#[derive(Debug, Clone)]
pub struct TestStore {
    store: Store,
    control: Control,
}

impl Deref for TestStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl TestStore {
    /// No group is stored until the store is [released](Self::release).
    pub fn hold(&self) {
        self.control.held.send_replace(true);
    }

    /// Groups are stored again, and the store has no fault any more.
    pub fn release(&self) {
        *self.control.fault() = None;
        self.control.held.send_replace(false);
    }

    /// From now on, the store has this fault.
    pub fn fail(&self, fault: Fault) {
        *self.control.fault() = Some(fault);
    }

    /// Makes the first message that waits in a queue untrustworthy, as a flipped bit would.
    pub fn damage(&self, queue: &str) {
        self.control.memory.damage(queue);
    }
}

/// What a test and its store share.
#[derive(Debug, Clone)]
pub(super) struct Control {
    memory: MemoryStore,
    held: watch::Sender<bool>,
    fault: Arc<Mutex<Option<Fault>>>,
}

impl Control {
    pub(super) fn new(memory: MemoryStore) -> Self {
        Self { memory, held: watch::Sender::new(false), fault: Arc::default() }
    }

    fn fault(&self) -> MutexGuard<'_, Option<Fault>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    /// The engine for a system.
    pub(super) fn engine(&self) -> Engine {
        Engine { memory: self.memory.clone(), control: self.clone() }
    }

    fn is_down(&self) -> Result<(), StoreError> {
        match *self.fault() {
            Some(Fault::Down) => Err(StoreError::new(StoreErrorKind::Broken, "the test has broken the store")),
            _ => Ok(()),
        }
    }
}

/// A store in memory that obeys the test.
pub(super) struct Engine {
    memory: MemoryStore,
    control: Control,
}

impl MessageStore for Engine {
    fn open<'a>(&'a mut self, owner: &'a Owner) -> StoreFuture<'a, Result<Opened, StoreError>> {
        match self.control.is_down() {
            Ok(()) => self.memory.open(owner),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>> {
        self.memory.claim(queue)
    }

    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>> {
        Box::pin(async move {
            tokio::time::sleep(GROUP).await;
            let mut held = self.control.held.subscribe();
            // The sender lives as long as this store.
            let _released = held.wait_for(|held| !held).await.is_ok();
            let fault = *self.control.fault();
            match fault {
                Some(Fault::Full) if group.changes.iter().any(|change| matches!(change, Change::Append(_))) => {
                    Err(CommitError::Full("the test has filled the store".to_owned()))
                }
                Some(Fault::Sync) => {
                    *self.control.fault() = None;
                    let _stored = self.memory.commit(group).await;
                    Err(CommitError::Unknown("the test has let the sync fail".to_owned()))
                }
                Some(Fault::Down) => Err(CommitError::Unknown("the test has broken the store".to_owned())),
                _ => self.memory.commit(group).await,
            }
        })
    }

    fn page(
        &mut self,
        queue: QueueId,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'_, Result<Vec<Stored>, StoreError>> {
        match self.control.is_down() {
            Ok(()) => self.memory.page(queue, after, room),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>, StoreError>> {
        match self.control.is_down() {
            Ok(()) => self.memory.queues(),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>, StoreError>> {
        self.memory.quarantined(queue, after, room)
    }

    fn shared(&mut self) -> Option<&mut dyn SharedQueues> {
        self.memory.shared()
    }

    fn close(self: Box<Self>) -> StoreFuture<'static, Result<(), StoreError>> {
        Box::new(self.memory).close()
    }
}

impl TestSystem {
    /// The store of this system's durable mailboxes.
    pub fn store(&self) -> TestStore {
        TestStore { store: ActorSystem::store(self), control: self.control.clone() }
    }

    /// Ends the process of this system, or its machine, at this moment: no hook runs, and nothing more is stored.
    /// Returns the next system, whose store has exactly what survives. That system has no actors yet.
    pub async fn crash(&self, crash: Crash) -> Self {
        let memory = self.control.memory.snapshot();
        if crash == Crash::Power {
            memory.cut_power();
        }
        self.log.borrow_mut().has_crashed = true;
        self.system.core().crash();
        // Its tasks are dropped when the runtime comes to them.
        for _ in 0..super::QUIET_ROUNDS {
            tokio::task::yield_now().await;
        }
        let next = Self::with_store(ActorSystem::builder(self.system.name()), Control::new(memory));
        let next = Self { patience: self.patience.clone(), next: std::rc::Rc::clone(&self.next), ..next };
        self.next.borrow_mut().push(next.handle());
        next
    }

    /// Lets the actors settle, and takes the quarantine of one message to this path.
    ///
    /// # Panics
    ///
    /// If no message of this actor is in quarantine.
    pub async fn expect_quarantined(&self, actor: &str) -> (MessageId, Fate) {
        let quarantined = self
            .expect(&format!("a message of {actor} in quarantine"), |event| match event {
                Event::Quarantined { actor: path, id, fate, .. } if path.local() == actor => Some((*id, *fate)),
                _ => None,
            })
            .await;
        self.expect(&format!("a dead letter for {actor}"), |event| match event {
            Event::DeadLetter(letter) if letter.recipient.local() == actor => Some(letter.reason),
            _ => None,
        })
        .await;
        quarantined
    }

    /// Lets the actors settle, and takes the event that messages of this actor stay in their queue.
    ///
    /// # Panics
    ///
    /// If no message of this actor stays in its queue.
    pub async fn expect_kept(&self, actor: &str) -> u64 {
        self.expect(&format!("messages of {actor} that stay"), |event| match event {
            Event::Kept { actor: path, messages, .. } if path.local() == actor => Some(*messages),
            _ => None,
        })
        .await
    }
}
