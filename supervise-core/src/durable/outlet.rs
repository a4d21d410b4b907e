//! A claimed queue, as the actor that owns it, its senders and the writer see it.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::AcceptError;
use super::inbox::{Inbox, Input};
use super::queue::Queue;
use super::store::{Marks, QueueId, Seq};
use super::ticket::Ticket;
use crate::base::ActorPath;

/// The settings of a durable mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DurableMailbox {
    /// How many messages may wait in the store. Rule [27.17](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.17).
    pub capacity: u64,
    /// How many of them may be in memory.
    pub window: usize,
    /// How often a message that failed is delivered again. Rule [27.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.7).
    pub redeliver: u32,
    /// How often the process may die with a message under way. Rule
    /// [27.9](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.9).
    pub crashes: u32,
    /// How long a message stays in quarantine.
    /// Rule [27.15](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.15).
    pub keep: Option<Duration>,
    /// Whether several actors may own the queue. Rule [27.19](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.19).
    pub shared: bool,
}

impl DurableMailbox {
    /// The settings of `mailbox = durable`: a million messages, a window of 1024, three redeliveries, three crashes,
    /// and a quarantine that keeps everything.
    pub const DEFAULT: Self =
        Self { capacity: 1_000_000, window: 1024, redeliver: 3, crashes: 3, keep: None, shared: false };

    /// Sets how many messages may wait in the store.
    #[must_use]
    pub const fn capacity(self, capacity: u64) -> Self {
        Self { capacity, ..self }
    }

    /// Sets how many of them may be in memory.
    #[must_use]
    pub const fn window(self, window: usize) -> Self {
        Self { window, ..self }
    }

    /// Sets how often a message that failed is delivered again.
    #[must_use]
    pub const fn redeliver(self, times: u32) -> Self {
        Self { redeliver: times, ..self }
    }

    /// Sets how often the process may die with a message under way.
    #[must_use]
    pub const fn crashes(self, times: u32) -> Self {
        Self { crashes: times, ..self }
    }

    /// Sets how long a message stays in quarantine before it is discarded.
    #[must_use]
    pub const fn keep(self, keep: Duration) -> Self {
        Self { keep: Some(keep), ..self }
    }

    /// Lets several actors own the queue, and sets the window to 16.
    #[must_use]
    pub const fn shared(self) -> Self {
        Self { shared: true, window: 16, ..self }
    }

    /// The state of a queue that is not claimed yet.
    fn unclaimed(self) -> Queue {
        if self.shared {
            Queue::shared(self.window, self.crashes, Seq(0))
        } else {
            Queue::claimed(self.window, self.crashes, Seq(0), Seq(0), None, false)
        }
    }
}

/// A message in memory that was handed over. Knows its actor's type, which this room does not.
pub(crate) trait Copied: Send {
    /// It was not stored: tells its asker, or reports a dead letter.
    fn refuse(self: Box<Self>, why: &AcceptError);

    /// It is read again later. Keeps its asker, if there is one.
    fn into_asker(self: Box<Self>) -> Option<Asker>;

    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

/// The place for the reply to a message that is read again later.
pub(crate) type Asker = Box<dyn Any + Send>;

/// Why a stored message did not reach its actor.
pub(crate) enum Undelivered {
    /// The actor has ended.
    Gone,
    /// The actor does not know the message, or cannot decode it.
    Undecodable(String),
    /// Its attempts are used up.
    Spent,
}

/// A control that takes its place behind everything that was accepted before it.
pub(crate) type Late = Box<dyn FnOnce() + Send>;

/// The actor that owns a queue.
pub(crate) trait Recipient: Send + Sync {
    /// Puts a message into the lane: the copy in memory, or the decoded body of the ticket.
    fn deliver(
        &self,
        ticket: Arc<Ticket>,
        copy: Option<Box<dyn Any + Send>>,
        asker: Option<Asker>,
    ) -> Result<(), Undelivered>;

    /// The actor has ended, and the asker's message stays in the store.
    fn refuse(&self, asker: Asker);

    /// The name of the message that is stored under `kind`, if the actor knows it.
    fn message_name(&self, kind: &str) -> Option<&'static str>;

    /// What the actor waited for has been stored.
    fn wake(&self);
}

/// A claimed queue. It lives as long as its owner.
pub(crate) struct Outlet {
    pub(crate) number: u64,
    /// Each time that the queue was lost to another process, the outlet gets another term, so that nothing from before has an effect.
    term: AtomicU64,
    /// The name of the queue.
    pub(crate) name: Arc<str>,
    /// The path of the owner.
    pub(crate) owner: ActorPath,
    pub(crate) settings: DurableMailbox,
    /// The owner handles messages in batches, and sets none aside. So all messages after those that were handled, up to the one that was
    /// begun last, are under way.
    pub(super) has_batches: bool,
    pub(crate) inbox: Arc<Inbox>,
    pub(super) queue: Mutex<Queue>,
    claimed: Mutex<Option<Claimed>>,
    /// How many messages wait: in the store, or handed over.
    waiting: AtomicU64,
    /// How many of them were handed over and are not stored yet, if the queue is shared.
    on_the_way: AtomicU64,
    room: Notify,
    /// The outlet belongs to a sender that does not own the queue.
    is_sender: bool,
    /// The owner accepts no further message.
    refuses: AtomicBool,
    /// Whether a handler was begun since the last mark of an idle actor.
    marked: AtomicBool,
    /// How many failures and quarantines the store does not know yet. Until it does, the mark must say that their message was
    /// begun.
    owed: AtomicU64,
}

/// What the store knows about a claimed queue.
#[derive(Clone)]
pub(super) struct Claimed {
    pub(super) queue: QueueId,
    pub(super) fence: u64,
    pub(super) marks: Arc<dyn Marks>,
}

impl Outlet {
    pub(super) fn new(
        number: u64,
        name: Arc<str>,
        owner: ActorPath,
        settings: DurableMailbox,
        inbox: Arc<Inbox>,
    ) -> Self {
        Self {
            number,
            term: AtomicU64::new(number),
            name,
            owner,
            settings,
            has_batches: false,
            inbox,
            queue: Mutex::new(settings.unclaimed()),
            claimed: Mutex::new(None),
            waiting: AtomicU64::new(0),
            on_the_way: AtomicU64::new(0),
            room: Notify::new(),
            is_sender: false,
            refuses: AtomicBool::new(false),
            marked: AtomicBool::new(false),
            owed: AtomicU64::new(0),
        }
    }

    /// Sets whether the owner handles messages in batches and sets none aside.
    pub(super) fn with_batches(self, has_batches: bool) -> Self {
        Self { has_batches, ..self }
    }

    pub(super) fn of_sender(self) -> Self {
        Self { is_sender: true, ..self }
    }

    pub(super) fn is_sender(&self) -> bool {
        self.is_sender
    }

    /// Names the queue for the writer.
    pub(super) fn term(&self) -> u64 {
        self.term.load(Ordering::Acquire)
    }

    /// Another process has become the owner of the queue.
    pub(super) fn lose(&self, term: u64) {
        let mut queue = self.queue();
        let was_released = queue.is_released();
        *queue = self.settings.unclaimed();
        if was_released {
            queue.release();
        }
        // The term changes together with the queue.
        self.term.store(term, Ordering::Release);
        self.owed.store(0, Ordering::Release);
        self.waiting.store(0, Ordering::Relaxed);
        drop(queue);
        self.room.notify_waiters();
    }

    /// Whether a message that was delivered in this term may be begun.
    pub(super) fn owns(&self, term: u64) -> bool {
        term == self.term() && self.claimed().is_none_or(|claimed| claimed.marks.owns(claimed.queue))
    }

    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The facts about the claimed queue. They are known before the first message is delivered.
    pub(super) fn claimed(&self) -> Option<Claimed> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_claimed(&self, claimed: Claimed) {
        let old = self.claimed.lock().unwrap_or_else(PoisonError::into_inner).replace(claimed);
        drop(old);
    }

    /// From now on, messages of a shared queue are delivered with this fence.
    pub(super) fn set_fence(&self, fence: u64) {
        if let Some(claimed) = &mut *self.claimed.lock().unwrap_or_else(PoisonError::into_inner) {
            claimed.fence = fence;
        }
    }

    // ---- senders -------------------------------------------------------------------------------------------------

    /// Takes room for one message. Rule 27.17.
    pub(crate) fn take_room(&self) -> bool {
        let more = |waiting| (waiting < self.settings.capacity).then_some(waiting + 1);
        let has_room = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if has_room && self.settings.shared {
            self.on_the_way.fetch_add(1, Ordering::Relaxed);
        }
        has_room
    }

    /// A message that had room is stored, or was refused.
    pub(super) fn lands(&self) {
        if self.settings.shared {
            self.on_the_way.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Others handle messages of a shared queue too, so the store says how many wait in it.
    pub(super) fn recount(&self, stored: u64) {
        self.waiting.store(stored.saturating_add(self.on_the_way.load(Ordering::Relaxed)), Ordering::Relaxed);
        self.room.notify_waiters();
    }

    /// Whether senders wait for room.
    pub(super) fn is_full(&self) -> bool {
        self.waiting() >= self.settings.capacity
    }

    pub(super) fn set_waiting(&self, messages: u64) {
        self.waiting.fetch_add(messages, Ordering::Relaxed);
    }

    /// A message no longer waits.
    pub(crate) fn give_room(&self) {
        let _empty =
            self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| waiting.checked_sub(1));
        self.room.notify_one();
    }

    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Completes when there may be room.
    pub(crate) fn has_room(&self) -> tokio::sync::futures::Notified<'_> {
        self.room.notified()
    }

    pub(crate) fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Acquire)
    }

    /// Refuses messages from now on.
    pub(crate) fn refuse(&self) {
        self.refuses.store(true, Ordering::Release);
        self.room.notify_waiters();
    }

    // ---- the owner -----------------------------------------------------------------------------------------------

    /// A handler is about to start. Rule 27.6.
    pub(super) fn begin(&self, seq: Seq) -> Option<Claimed> {
        let mut queue = self.queue();
        queue.begins();
        let handled = queue.handled();
        drop(queue);
        self.marked.store(true, Ordering::Relaxed);
        let claimed = self.claimed()?;
        claimed.marks.begun(claimed.queue, seq, handled);
        Some(claimed)
    }

    /// What an earlier process had begun has been charged; the same death must not charge it again.
    pub(super) fn has_charged(&self) {
        if !self.marked.load(Ordering::Relaxed) {
            self.marked.store(true, Ordering::Relaxed);
            self.mark_idle();
        }
    }

    /// A message has failed or goes into quarantine, and the store does not know it yet. Returns false if the queue was lost meanwhile.
    pub(super) fn owe(&self, term: u64) -> bool {
        let queue = self.queue();
        let is_ours = term == self.term();
        if is_ours {
            self.owed.fetch_add(1, Ordering::Relaxed);
        }
        drop(queue);
        is_ours
    }

    /// The store knows it. The caller must wake the owner.
    pub(super) fn paid(&self) {
        self.owed.fetch_sub(1, Ordering::Release);
    }

    /// Whether the store knows what became of the messages that have failed.
    pub(super) fn is_settled(&self) -> bool {
        self.owed.load(Ordering::Acquire) == 0
    }

    /// No handler runs, and the owner waits for a message.
    pub(crate) fn idle(&self) {
        let mut queue = self.queue();
        if queue.runs_dry() {
            // The term changes together with the queue.
            let hungry = Input::Hungry { outlet: self.term() };
            drop(queue);
            self.inbox.put(hungry);
        } else {
            drop(queue);
        }
        self.mark_idle();
    }

    /// Notes that no handler runs.
    fn mark_idle(&self) {
        if !self.is_settled() {
            return;
        }
        if self.marked.swap(false, Ordering::Relaxed)
            && let Some(claimed) = self.claimed()
        {
            let handled = self.queue().handled();
            claimed.marks.idle(claimed.queue, handled);
        }
    }

    /// A message was handled. Rule 27.5.
    ///
    /// The acknowledgement waits for the next group, unless another message can be read now, or waits for the end of this one, which was
    /// `tried_alone`.
    pub(super) fn handled(&self, term: u64, seq: Seq, tried_alone: bool) {
        let mut queue = self.queue();
        if term != self.term() {
            return;
        }
        queue.end(seq);
        let is_awaited = tried_alone || queue.wants().is_some();
        drop(queue);
        self.give_room();
        let handled = Input::Handled { outlet: term, seq };
        if is_awaited { self.inbox.put(handled) } else { self.inbox.put_quietly(handled) }
    }

    pub(super) fn give_back(&self, term: u64, seq: Seq) {
        let mut queue = self.queue();
        if term != self.term() {
            return;
        }
        queue.give_back(seq);
        drop(queue);
        self.inbox.put(Input::GivenBack { outlet: term, seq });
    }

    /// The owner has ended, and its tickets have been given back.
    pub(crate) fn release(&self) {
        self.refuse();
        self.queue().release();
        self.mark_idle();
        self.inbox.put(Input::Release { outlet: self.term() });
        // A later owner of the name claims the queue after this release.
        self.inbox.release_name(self);
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("name", &self.name).field("owner", &self.owner).finish_non_exhaustive()
    }
}
