//! What an engine that keeps the messages of durable mailboxes must do.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

/// What the calls of a [`MessageStore`] return.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Tells the runtime to look at a queue of this process. Either another process may have put messages into it, and this is the last number
/// that was assigned in it; or another process may own it.
pub type Arrived = Arc<dyn Fn(QueueId, Seq) + Send + Sync>;

/// Keeps the messages of durable mailboxes, on disk or elsewhere.
///
/// The runtime owns the store and makes one call at a time. A store that blocks does its work on a thread of its own.
/// No call is cancelled: the runtime awaits every future to its end.
pub trait MessageStore: Send + 'static {
    /// Opens the store for one process, and recovers what the last one left. Called again after a call has failed with
    /// [`CommitError::Unknown`] or [`StoreErrorKind::Broken`]: then the store forgets what it has in memory and recovers from
    /// what is durable. It never repeats a failed sync.
    fn open<'a>(&'a mut self, owner: &'a Owner) -> StoreFuture<'a, Result<Opened, StoreError>>;

    /// Makes this process the owner of a queue, which is created if it does not exist. Only the owner calls
    /// [`page`](Self::page), and begins messages.
    ///
    /// If another process owns the queue, fails with [`StoreErrorKind::Claimed`] without waiting for it: the runtime calls again.
    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>>;

    /// Makes all changes of the group durable, in their order, or none of them. Returns one answer for each
    /// [`Change::Append`], in their order. If the process dies meanwhile, a group without a [`Change::Append`] may be durable up to any of its
    /// changes.
    ///
    /// A change about a message that is not there (any more) changes nothing and is not an error: the runtime repeats changes
    /// after [`CommitError::Unknown`]. In a queue that another process owns now, or that this one has not claimed since it opened the store,
    /// [`Change::Handled`], [`Change::Charged`] and [`Change::Quarantine`] may have no effect either, and are not errors. If the runtime claims
    /// such a queue again, it treats the messages that it had before as if a process had died
    /// (rule [27.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.6)).
    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>>;

    /// The messages of a queue that come next after `after`, in their order. Fails with [`StoreErrorKind::Claimed`] if another
    /// process may have become the owner of the queue.
    fn page(&mut self, queue: QueueId, after: Seq, room: Room)
    -> StoreFuture<'_, Result<Vec<Stored>, StoreError>>;

    /// All queues.
    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>, StoreError>>;

    /// The queue of this name, if there is one. A store that can find it without reading all queues should do so. The runtime asks before it
    /// sends to a queue that no actor of this process owns, so a queue that must not accept messages is an error, as it is for
    /// [`claim`](Self::claim).
    fn queue<'a>(&'a mut self, name: &'a str) -> StoreFuture<'a, Result<Option<QueueRow>, StoreError>> {
        Box::pin(async move { Ok(self.queues().await?.into_iter().find(|row| row.name == name)) })
    }

    /// The quarantined messages of a queue that come next after `after`, in the order of their numbers.
    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>, StoreError>>;

    /// If other processes may put messages into queues of this process, or own them, the store keeps `arrived` and calls it when that
    /// happens. The runtime calls this method once, before [`open`](Self::open).
    fn listen(&mut self, arrived: Arrived) {
        drop(arrived);
    }

    /// What a store does that lets several actors share a queue. `None`: this store cannot do it, and actors with
    /// `mailbox = durable(shared)` cannot be spawned.
    fn shared(&mut self) -> Option<&mut dyn SharedQueues> {
        None
    }

    /// Ends cleanly: the next [`open`](Self::open) is told so.
    fn close(self: Box<Self>) -> StoreFuture<'static, Result<(), StoreError>>;
}

/// Queues that have several owners, in one process or in many. Each message is with one process at a time. Rule
/// [27.19](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.19).
///
/// The runtime calls these methods instead of [`claim`](MessageStore::claim) and [`page`](MessageStore::page). A process leaves the queue
/// with [`Change::Release`].
pub trait SharedQueues: Send {
    /// Makes this process one of the owners of a queue, which is created if it does not exist. If the process is an owner already, changes
    /// nothing. Fails with [`StoreErrorKind::Claimed`] if another process owns the queue alone.
    ///
    /// [`Claim::was_ours`] says whether the process holds what it held before. `handled` and `begun` are not used.
    fn share<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>>;

    /// Gives messages of a queue to this process. Until they have left the queue, or the process leaves it or dies, no other process gets
    /// them. All messages that a process held when it died are charged one crash, and so is the message that a sole owner was handling when it
    /// died.
    ///
    /// Returns one message that has crashes, if `may_try` is true and there is one, then what the process holds and does not have `in_hand`, and
    /// then messages that nobody holds. `room` counts messages only. If it has room for 0, no messages are given; the other fields
    /// are valid. Fails with [`StoreErrorKind::Claimed`] if the process is not an owner any more.
    fn take<'a>(
        &'a mut self,
        queue: QueueId,
        in_hand: &'a BTreeSet<Seq>,
        room: Room,
        may_try: bool,
    ) -> StoreFuture<'a, Result<Taken, StoreError>>;
}

/// Messages of a shared queue that belong to this process now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// The messages. At most one of them has crashes, and none if the runtime has said that none may be tried.
    pub messages: Vec<Stored>,
    /// Each message up to this one has left the queue, or some process holds it.
    pub passed: Seq,
    /// Whether the process could take more at once, if it has room.
    pub has_more: bool,
    /// Whether suspects wait that nobody is trying.
    pub has_suspects: bool,
    /// How many messages are in the queue, including those that are held.
    pub waiting: u64,
    /// Of two processes that have had the same message, the later one has the larger number.
    pub fence: u64,
}

/// Notes which message is being handled. The notes outlive the process, but not necessarily the machine.
///
/// Called on the actors' turns, so it must be cheap: it writes without waiting for the disk.
pub trait Marks: Send + Sync {
    /// The handler of `seq` is about to start, and all messages of the queue up to and including `handled` have been handled. Before the
    /// handler of a batch starts, this is called for each of its messages, in their order.
    fn begun(&self, queue: QueueId, seq: Seq, handled: Seq);

    /// No handler of the queue runs, and all its messages up to and including `handled` have been handled.
    fn idle(&self, queue: QueueId, handled: Seq);

    /// Whether it is certain that no other process owns the queue now. If this returns `false`, the runtime starts none of its messages.
    /// Rule [27.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.6).
    fn owns(&self, queue: QueueId) -> bool {
        let _ = queue;
        true
    }
}

/// The process that opens a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// The name of the actor system.
    pub system: String,
    /// The process id.
    pub pid: u32,
}

impl Owner {
    /// This process.
    pub fn new(system: impl Into<String>) -> Self {
        Self { system: system.into(), pid: std::process::id() }
    }
}

/// An open store.
pub struct Opened {
    /// How the process before this one ended.
    pub ended: Ended,
    /// Where handlers are noted.
    pub marks: Arc<dyn Marks>,
    /// Messages that should be in the store and are missing: rule
    /// [27.14](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.14). Only a store
    /// that was told to accept damage opens with them.
    pub missing: Vec<(QueueId, Seq)>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("ended", &self.ended)
            .field("missing", &self.missing)
            .finish_non_exhaustive()
    }
}

/// How the process that had the store before ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The process closed the store, or no process had it before.
    Cleanly,
    /// The process died and the machine went on: the [marks](Marks) are true.
    ProcessDied,
    /// The machine stopped: the marks may be older than the messages, so any message that waited
    /// [may have begun](Claim::may_have_begun).
    MachineStopped,
}

/// The number of a queue within its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

/// The number of a message within its queue. The first message has the number 1, and no number is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl Seq {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Names one stored message, in every process and for every attempt. Displays as `12-345`, queue and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// Its queue.
    pub queue: QueueId,
    /// Its number in the queue.
    pub seq: Seq,
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.queue.0, self.seq.0)
    }
}

/// A queue that this process owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The queue.
    pub queue: QueueId,
    /// How many messages wait in it.
    pub waiting: u64,
    /// The highest number that a message of this queue has had so far. 0: none.
    pub last: Seq,
    /// All messages up to and including this one have been handled, if the marks are true. Some of them may still be in the
    /// store.
    pub handled: Seq,
    /// The message whose handler was running when the last owner died. If that was a batch, it is the last message of the batch.
    pub begun: Option<Seq>,
    /// Messages up to this one may have been begun by a process that died: the store cannot rule it out. Also after later
    /// processes have ended cleanly.
    pub may_have_begun: Seq,
    /// Grows with each owner of the queue.
    pub fence: u64,
    /// Whether no other process has owned the queue since this one claimed it last. If another one has, what this process remembers about
    /// its messages is not true any more.
    pub was_ours: bool,
}

/// Changes that become durable together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// In the order in which they take effect.
    pub changes: Vec<Change>,
}

/// One change of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A message goes to the end of its queue.
    Append(Append),
    /// A message was handled. The store forgets it, except for its key.
    Handled(MessageId),
    /// A handler failed, was dropped, or the process died in it. The message stays in its place.
    Charged {
        /// The message.
        id: MessageId,
        /// How many attempts have been made in all.
        attempts: u32,
        /// How often the process has died with the message under way.
        crashes: u32,
        /// The failures so far, as texts, the oldest first. The runtime bounds them.
        failures: Vec<String>,
    },
    /// A message leaves its queue for the quarantine.
    Quarantine {
        /// The message.
        id: MessageId,
        /// Why.
        fate: Fate,
        /// The failures of its attempts, the oldest first.
        failures: Vec<String>,
    },
    /// A message leaves the quarantine and goes to the end of its queue, with a new number and no attempts.
    Retry(MessageId),
    /// A quarantined message is deleted.
    Discard(MessageId),
    /// A queue gets another name.
    Rename {
        /// The old name.
        from: String,
        /// The new name. No queue may have it that holds messages.
        to: String,
    },
    /// A queue is deleted with its messages and its quarantine.
    DiscardQueue(String),
    /// The owner of a queue leaves it. No message of it is under way.
    Release(QueueId),
}

/// A message to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Its queue, which need not be claimed.
    pub queue: QueueId,
    /// The stored name of its handler.
    pub kind: Cow<'static, str>,
    /// Its arguments, encoded. Shared with the copy in the mailbox.
    pub body: Arc<[u8]>,
    /// When it was handed over.
    pub accepted_at: SystemTime,
    /// If a message with this key waits, or was accepted in the last 10 minutes, this message is not stored.
    pub key: Option<String>,
}

/// What became of one [`Change::Append`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// It was stored under this number.
    Stored(Seq),
    /// A message with its key had been accepted before. Nothing was stored.
    Known,
    /// The store has no room for this message, and did not store it. Stores that cannot take back the rest of the group return this;
    /// others return [`CommitError::Full`].
    Full,
    /// The store never takes a message of this size. It was not stored.
    TooLarge,
}

/// Why a group did not become durable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The store has no room for the group's messages, or takes no more for another reason. Nothing was changed. A group without [`Change::Append`]
    /// still succeeds: the store keeps a reserve for it.
    #[error("the message store takes no more messages: {0}")]
    Full(String),
    /// Nobody knows whether the group is durable. The store must be opened again.
    #[error("the message store failed: {0}")]
    Unknown(String),
}

/// How many messages a [page](MessageStore::page) or a page of the [quarantine](MessageStore::quarantined) may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Messages. At least 1.
    pub messages: usize,
    /// Bytes of their bodies together. The first message comes whatever its size.
    pub bytes: usize,
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its number.
    pub seq: Seq,
    /// The stored name of its handler.
    pub kind: String,
    /// Its arguments, encoded.
    pub body: Arc<[u8]>,
    /// When it was handed over.
    pub accepted_at: SystemTime,
    /// How many attempts have been made.
    pub attempts: u32,
    /// How often the process has died with it under way.
    pub crashes: u32,
    /// The failures of its attempts, the oldest first.
    pub failures: Vec<String>,
    /// Its checksum does not match: the body cannot be trusted.
    pub is_damaged: bool,
}

/// Why a message is in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fate {
    /// Its handler failed as often as it may, or the actor was resumed.
    Failed,
    /// The actor does not know it, or cannot decode its arguments.
    Undecodable,
    /// Its checksum did not match.
    Damaged,
    /// The process died in its handler as often as it may.
    CrashedTheProcess,
}

/// A message in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// The id of the message, with which it can be retried or discarded.
    pub id: MessageId,
    /// Why it is here.
    pub fate: Fate,
    /// Since when.
    pub since: SystemTime,
    /// The message. Its failures are the reason in words.
    pub message: Stored,
}

/// A queue of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueRow {
    /// Its number.
    pub queue: QueueId,
    /// Its name.
    pub name: String,
    /// The owner: the path of an actor of this system, or what the store knows about another process.
    pub owner: Option<String>,
    /// How many messages wait.
    pub waiting: u64,
    /// When the oldest of them was accepted.
    pub oldest: Option<SystemTime>,
    /// How many messages are in quarantine.
    pub quarantined: u64,
}

/// Messages that stay in the store although their actor has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The name of their queue.
    pub queue: String,
    /// How many.
    pub messages: u64,
}

/// A store refused a call or failed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct StoreError {
    /// What kind of error it is.
    pub kind: StoreErrorKind,
    /// What happened, where, and how to mend it.
    pub text: String,
}

crate::failure::debug_in_one_line!(StoreError);

impl StoreError {
    /// An error with its text.
    pub fn new(kind: StoreErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// The kind of a [`StoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another process has the store. Opening it again helps when that process has ended.
    Locked {
        /// Its process id, if it is known.
        pid: Option<u32>,
    },
    /// The store is read-only.
    ReadOnly,
    /// A newer release has written the store.
    NewerFormat,
    /// Messages that had been accepted are missing: rule [27.14](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.14).
    Damaged,
    /// Another owner has the queue.
    Claimed,
    /// There is no such queue or message, or the name is taken.
    Refused,
    /// The store failed, and must be opened again.
    Broken,
}
