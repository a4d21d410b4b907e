//! A store in memory. Its clones share their contents, so a second system can open what the first one left.

mod shared;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use super::KEYS_ARE_KEPT;
use super::shares::Shares;
use super::store::{
    Append, Appended, Change, Claim, CommitError, Ended, Fate, Group, Marks, MessageId, MessageStore, Opened,
    Owner, Quarantined, QueueId, QueueRow, Room, Seq, SharedQueues, StoreError, StoreErrorKind, StoreFuture,
    Stored,
};

/// A [`MessageStore`] in memory, for tests and for trying things out.
///
/// Clones share their contents. What one system has accepted, the next system that opens a clone handles, as if the store were a
/// file. One system at a time may have it open.
#[derive(Clone, Default)]
pub struct MemoryStore {
    disk: Arc<Mutex<Disk>>,
    /// Held by the clone that has the store open.
    lock: Option<Arc<()>>,
}

/// What survives the process.
#[derive(Default)]
struct Disk {
    queues: BTreeMap<QueueId, Queue>,
    /// How many queues have been numbered so far.
    numbers: u32,
    /// Alive while a clone has the store open.
    lock: Weak<()>,
    /// A clone has opened the store and has not closed it.
    is_dirty: bool,
    /// The machine has stopped since it was opened.
    lost_power: bool,
    /// How many processes have opened the store. Identifies the process that has it open.
    process: u64,
}

#[derive(Default)]
struct Queue {
    name: String,
    last: Seq,
    /// In order.
    waiting: BTreeMap<Seq, Stored>,
    quarantine: BTreeMap<Seq, (Fate, SystemTime, Stored)>,
    /// When the messages of these keys were accepted.
    keys: HashMap<String, SystemTime>,
    /// The same keys, in the order of their acceptance.
    keys_in_order: VecDeque<String>,
    fence: u64,
    /// Messages up to this one may have been begun by a process that died.
    may_have_begun: Seq,
    mark: Mark,
    /// The mark as it was last written to the disk.
    synced: Mark,
    /// What the owners of a shared queue hold.
    shares: Shares<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    begun: Option<Seq>,
    handled: Seq,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this clone has the store open.
    fn is_owner(&self, disk: &Disk) -> bool {
        self.lock.as_ref().is_some_and(|lock| disk.lock.ptr_eq(&Arc::downgrade(lock)))
    }

    /// Simulates a power cut, which leaves the messages and the marks of the last clean end.
    #[cfg(feature = "testkit")]
    pub(crate) fn cut_power(&self) {
        let mut disk = self.disk();
        disk.lost_power = true;
        for queue in disk.queues.values_mut() {
            queue.mark = queue.synced;
            queue.free_all();
        }
    }

    /// Makes the body of the first waiting message of a queue untrustworthy.
    #[cfg(feature = "testkit")]
    pub(crate) fn damage(&self, queue: &str) {
        let mut disk = self.disk();
        let queue = disk.queues.values_mut().find(|known| known.name == queue);
        if let Some(stored) = queue.and_then(|queue| queue.waiting.values_mut().next()) {
            stored.is_damaged = true;
        }
    }

    /// A copy of the contents, which this store does not change any more.
    #[cfg(feature = "testkit")]
    pub(crate) fn snapshot(&self) -> Self {
        let mut disk = self.disk();
        let contents = Disk {
            queues: std::mem::take(&mut disk.queues),
            numbers: disk.numbers,
            lock: Weak::new(),
            is_dirty: disk.is_dirty,
            lost_power: disk.lost_power,
            process: disk.process,
        };
        Self { disk: Arc::new(Mutex::new(contents)), lock: None }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues =
            self.disk().queues.values().map(|queue| (queue.name.clone(), queue.waiting.len())).collect::<Vec<_>>();
        f.debug_struct("MemoryStore").field("queues", &queues).finish_non_exhaustive()
    }
}

impl Disk {
    fn id(&self, name: &str) -> Option<QueueId> {
        self.queues.iter().find(|(_, queue)| queue.name == name).map(|(id, _)| *id)
    }

    fn queue(&mut self, id: QueueId) -> Option<&mut Queue> {
        self.queues.get_mut(&id)
    }

    fn create(&mut self, name: &str) -> QueueId {
        let id = QueueId(self.numbers);
        self.numbers += 1;
        self.queues.insert(id, Queue { name: name.to_owned(), ..Queue::default() });
        id
    }

    fn append(&mut self, append: &Append) -> Option<Appended> {
        let queue = self.queue(append.queue)?;
        if let Some(key) = &append.key {
            queue.forget_keys(append.accepted_at);
            if queue.keys.contains_key(key) {
                return Some(Appended::Known);
            }
            queue.keys.insert(key.clone(), append.accepted_at);
            queue.keys_in_order.push_back(key.clone());
        }
        let stored = Stored {
            seq: queue.last.next(),
            kind: append.kind.to_string(),
            body: Arc::clone(&append.body),
            accepted_at: append.accepted_at,
            attempts: 0,
            crashes: 0,
            failures: Vec::new(),
            is_damaged: false,
        };
        queue.last = stored.seq;
        queue.waiting.insert(stored.seq, stored);
        Some(Appended::Stored(queue.last))
    }

    fn change(&mut self, change: &Change, appended: &mut Vec<Appended>) -> Result<(), CommitError> {
        let process = self.process;
        match change {
            Change::Append(append) => {
                let unknown = || CommitError::Unknown("an append to a queue that does not exist".to_owned());
                appended.push(self.append(append).ok_or_else(unknown)?);
            }
            Change::Handled(MessageId { queue, seq }) => {
                if let Some(queue) = self.queue(*queue) {
                    queue.waiting.remove(seq);
                    queue.shares.ended(&process, &BTreeSet::from([*seq]));
                }
            }
            Change::Charged { id, attempts, crashes, failures } => {
                if let Some(stored) = self.queue(id.queue).and_then(|queue| queue.waiting.get_mut(&id.seq)) {
                    (stored.attempts, stored.crashes) = (*attempts, *crashes);
                    stored.failures.clone_from(failures);
                }
            }
            Change::Quarantine { id, fate, failures } => {
                if let Some(queue) = self.queue(id.queue)
                    && let Some(mut stored) = queue.waiting.remove(&id.seq)
                {
                    queue.shares.ended(&process, &BTreeSet::from([id.seq]));
                    stored.failures.clone_from(failures);
                    queue.quarantine.insert(id.seq, (*fate, SystemTime::now(), stored));
                }
            }
            Change::Retry(id) => {
                if let Some(queue) = self.queue(id.queue)
                    && let Some(stored) = queue.take_quarantined(id.seq)
                {
                    queue.last = queue.last.next();
                    let seq = queue.last;
                    let again = Stored { seq, attempts: 0, crashes: 0, failures: Vec::new(), ..stored };
                    queue.waiting.insert(seq, again);
                }
            }
            Change::Discard(id) => {
                if let Some(queue) = self.queue(id.queue) {
                    drop(queue.take_quarantined(id.seq));
                }
            }
            Change::Rename { from, to } => self.rename(from, to),
            Change::DiscardQueue(name) => {
                if let Some(id) = self.id(name) {
                    self.queues.remove(&id);
                }
            }
            Change::Release(id) => {
                if let Some(queue) = self.queue(*id) {
                    // The owner has released the queue, so no message is under way.
                    queue.mark.begun = None;
                    queue.synced = queue.mark;
                    queue.shares.leave(&process);
                }
            }
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) {
        let (Some(old), taken) = (self.id(from), self.id(to)) else { return };
        if let Some(taken) = taken {
            let queue = &self.queues[&taken];
            if taken == old || !queue.waiting.is_empty() || !queue.quarantine.is_empty() {
                return;
            }
            self.queues.remove(&taken);
        }
        if let Some(queue) = self.queue(old) {
            to.clone_into(&mut queue.name);
        }
    }
}

impl Queue {
    /// Forgets the keys that are old enough.
    fn forget_keys(&mut self, now: SystemTime) {
        let is_old = |since: &SystemTime| now.duration_since(*since).is_ok_and(|age| age >= KEYS_ARE_KEPT);
        while let Some(oldest) = self.keys_in_order.front()
            && self.keys.get(oldest).is_none_or(is_old)
            && let Some(oldest) = self.keys_in_order.pop_front()
        {
            self.keys.remove(&oldest);
        }
    }

    fn take_quarantined(&mut self, seq: Seq) -> Option<Stored> {
        Some(self.quarantine.remove(&seq)?.2)
    }

    /// Takes all messages from their holders without charging a crash.
    fn free_all(&mut self) {
        let members: Vec<u64> = self.shares.members().keys().copied().collect();
        for member in &members {
            self.shares.leave(member);
        }
    }

    /// Charges a crash to the messages that dead processes held. Returns whether there were any; if so, the mark is meaningless.
    fn bury(&mut self, process: u64) -> bool {
        let dead: Vec<u64> = self.shares.members().keys().copied().filter(|member| *member != process).collect();
        for member in &dead {
            self.shares.died(member);
        }
        !dead.is_empty()
    }

    /// The message as it is delivered, with the crashes charged while the queue was shared.
    fn delivered(&self, stored: &Stored) -> Stored {
        let crashes = stored.crashes.max(self.shares.crashes(stored.seq));
        Stored { crashes, ..stored.clone() }
    }

    fn row(&self, queue: QueueId) -> QueueRow {
        QueueRow {
            queue,
            name: self.name.clone(),
            owner: None,
            waiting: self.waiting.len() as u64,
            oldest: self.waiting.values().next().map(|stored| stored.accepted_at),
            quarantined: self.quarantine.len() as u64,
        }
    }
}

/// Marks kept in memory.
struct InMemory(Arc<Mutex<Disk>>);

impl InMemory {
    fn mark(&self, queue: QueueId, begun: Option<Seq>, handled: Seq) {
        let mut disk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = disk.queue(queue) {
            queue.mark = Mark { begun, handled };
        }
    }
}

impl Marks for InMemory {
    fn begun(&self, queue: QueueId, seq: Seq, handled: Seq) {
        self.mark(queue, Some(seq), handled);
    }

    fn idle(&self, queue: QueueId, handled: Seq) {
        self.mark(queue, None, handled);
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl MessageStore for MemoryStore {
    fn open<'a>(&'a mut self, owner: &'a Owner) -> StoreFuture<'a, Result<Opened, StoreError>> {
        let mut disk = self.disk();
        let own = self.is_owner(&disk);
        if disk.lock.strong_count() > 0 && !own {
            let text = "another system has this store in memory open: end it first, or drop its runtime";
            return ready(Err(StoreError::new(StoreErrorKind::Locked { pid: Some(owner.pid) }, text)));
        }
        let lock = Arc::new(());
        disk.lock = Arc::downgrade(&lock);
        let ended = match (disk.is_dirty && !own, disk.lost_power) {
            (_, true) => Ended::MachineStopped,
            (true, false) => Ended::ProcessDied,
            (false, false) => Ended::Cleanly,
        };
        for queue in disk.queues.values_mut() {
            let may_have_begun = match ended {
                Ended::MachineStopped => queue.last,
                Ended::ProcessDied => queue.mark.begun.unwrap_or_default(),
                Ended::Cleanly => Seq(0),
            };
            queue.may_have_begun = queue.may_have_begun.max(may_have_begun);
        }
        (disk.is_dirty, disk.lost_power) = (true, false);
        disk.process += u64::from(!own);
        drop(disk);
        self.lock = Some(lock);
        let marks = Arc::new(InMemory(Arc::clone(&self.disk)));
        ready(Ok(Opened { ended, marks, missing: Vec::new() }))
    }

    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>> {
        let mut disk = self.disk();
        let process = disk.process;
        let id = disk.id(queue).unwrap_or_else(|| disk.create(queue));
        let refused = StoreError::new(StoreErrorKind::Refused, "too many queues");
        let Some(queue) = disk.queue(id) else { return ready(Err(refused)) };
        queue.fence += 1;
        if queue.bury(process) {
            queue.mark = Mark::default();
        }
        for (seq, crashes) in queue.shares.charged() {
            if let Some(stored) = queue.waiting.get_mut(seq) {
                stored.crashes = stored.crashes.max(*crashes);
            }
        }
        let mark = queue.mark;
        // A marked message that has left the queue was handled: it is not under way.
        let begun = mark.begun.filter(|begun| queue.waiting.contains_key(begun));
        ready(Ok(Claim {
            queue: id,
            waiting: queue.waiting.len() as u64,
            last: queue.last,
            handled: mark.handled,
            begun,
            may_have_begun: queue.may_have_begun,
            fence: queue.fence,
            was_ours: true,
        }))
    }

    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>> {
        let mut disk = self.disk();
        let mut appended = Vec::new();
        let changed = group.changes.iter().try_for_each(|change| disk.change(change, &mut appended));
        drop(disk);
        ready(changed.map(|()| appended))
    }

    fn page(
        &mut self,
        queue: QueueId,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'_, Result<Vec<Stored>, StoreError>> {
        let mut disk = self.disk();
        let mut page: Vec<Stored> = Vec::new();
        let mut bytes = 0;
        for (_, stored) in disk.queue(queue).into_iter().flat_map(|queue| queue.waiting.range(after.next()..)) {
            bytes += stored.body.len();
            if page.len() >= room.messages || (bytes > room.bytes && !page.is_empty()) {
                break;
            }
            page.push(stored.clone());
        }
        drop(disk);
        ready(Ok(page))
    }

    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>, StoreError>> {
        let disk = self.disk();
        let rows = disk.queues.iter().map(|(id, queue)| queue.row(*id)).collect();
        drop(disk);
        ready(Ok(rows))
    }

    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>, StoreError>> {
        let mut disk = self.disk();
        let Some(id) = disk.id(queue) else {
            let text = format!("there is no queue `{queue}`");
            return ready(Err(StoreError::new(StoreErrorKind::Refused, text)));
        };
        let mut page = Vec::new();
        let mut bytes = 0;
        let rest = disk.queue(id).into_iter().flat_map(|queue| queue.quarantine.range(after.next()..));
        for (seq, (fate, since, message)) in rest {
            bytes += message.body.len();
            if page.len() >= room.messages || (bytes > room.bytes && !page.is_empty()) {
                break;
            }
            let id = MessageId { queue: id, seq: *seq };
            page.push(Quarantined { id, fate: *fate, since: *since, message: message.clone() });
        }
        drop(disk);
        ready(Ok(page))
    }

    fn shared(&mut self) -> Option<&mut dyn SharedQueues> {
        Some(self)
    }

    fn close(self: Box<Self>) -> StoreFuture<'static, Result<(), StoreError>> {
        let mut disk = self.disk();
        if !self.is_owner(&disk) {
            return ready(Err(StoreError::new(StoreErrorKind::Broken, "the store is not open")));
        }
        disk.is_dirty = false;
        for queue in disk.queues.values_mut() {
            queue.mark.begun = None;
            queue.synced = queue.mark;
            queue.free_all();
        }
        drop(disk);
        ready(Ok(()))
    }
}
