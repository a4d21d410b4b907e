//! The name under which the store knows a message that is in memory. It goes through lane, stash and handler beside the message.
//!
//! Rules 27.5, 27.6, 27.7 and 27.8.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::inbox::Input;
use super::outlet::Outlet;
use super::store::{Fate, MessageId, QueueId, Seq, Stored};
use crate::failure::Failure;

/// How many failures of one message are stored: the first one and the last ones.
const KEPT_FAILURES: usize = 16;

/// How many bytes of a failure are stored.
const KEPT_BYTES: usize = 512;

/// The name of a stored message that is in memory. If it is dropped without an end, its message goes back to its queue.
pub(crate) struct Ticket {
    outlet: Arc<Outlet>,
    /// When it was delivered.
    term: u64,
    seq: Seq,
    pub(crate) kind: Cow<'static, str>,
    pub(crate) body: Arc<[u8]>,
    accepted_at: SystemTime,
    after_crash: bool,
    crashes: u32,
    attempts: AtomicU32,
    failures: Mutex<Vec<Failure>>,
    /// Whether the message was handled or goes into quarantine.
    has_ended: AtomicBool,
}

impl Ticket {
    /// The ticket of a stored message.
    pub(super) fn new(outlet: &Arc<Outlet>, kind: Cow<'static, str>, stored: Stored, after_crash: bool) -> Self {
        let Stored { seq, body, accepted_at, attempts, crashes, failures, .. } = stored;
        Self {
            outlet: Arc::clone(outlet),
            term: outlet.term(),
            seq,
            kind,
            body,
            accepted_at,
            after_crash,
            crashes,
            attempts: AtomicU32::new(attempts),
            failures: Mutex::new(failures.into_iter().map(Failure::other).collect()),
            has_ended: AtomicBool::new(false),
        }
    }

    /// How many attempts have failed.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Whether the message's handler may start, because no other process can own the queue.
    pub(crate) fn may_begin(&self) -> bool {
        self.outlet.owns(self.term)
    }

    /// Whether a process has died with the message.
    pub(crate) fn is_suspect(&self) -> bool {
        self.crashes > 0
    }

    /// Whether the message is a batch of its own: a process has died while handling it, or it has failed, perhaps
    /// because of another message of its batch.
    pub(crate) fn is_tried_alone(&self) -> bool {
        self.is_suspect() || self.attempts() > 0
    }

    /// Its handler is about to start.
    pub(crate) fn begin(&self) -> Delivery {
        let claimed = self.outlet.begin(self.seq);
        let (queue, fence) = claimed.map_or((QueueId(0), 0), |claimed| (claimed.queue, claimed.fence));
        Delivery {
            id: MessageId { queue, seq: self.seq },
            attempt: self.attempts().saturating_add(1),
            after_crash: self.after_crash,
            accepted_at: self.accepted_at,
            fence,
        }
    }

    /// Its handler returned.
    pub(crate) fn handled(&self) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            self.outlet.handled(self.term, self.seq, self.is_suspect());
        }
    }

    /// Its handler failed, or was dropped. The store must know it before the message is tried again.
    pub(crate) fn charge(&self, failure: Failure) {
        let attempts = self.attempts().saturating_add(1);
        self.attempts.store(attempts, Ordering::Relaxed);
        if !self.outlet.owe(self.term) {
            return;
        }
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() == KEPT_FAILURES {
            failures.remove(1);
        }
        failures.push(failure);
        let failures = failures.clone();
        self.outlet.inbox.put(Input::Charged {
            outlet: self.term,
            seq: self.seq,
            attempts,
            crashes: self.crashes,
            failures,
        });
    }

    /// Whether the store knows what became of it, and of all others that have failed.
    pub(crate) fn is_settled(&self) -> bool {
        self.outlet.is_settled()
    }

    /// Sends the message into quarantine. It is not tried again.
    pub(crate) fn quarantine(&self, fate: Fate) {
        self.quarantine_as(fate, self.failures());
    }

    pub(super) fn quarantine_as(&self, fate: Fate, failures: Vec<Failure>) {
        if !self.has_ended.swap(true, Ordering::Relaxed) && self.outlet.owe(self.term) {
            self.outlet.inbox.put(Input::Quarantine {
                outlet: self.term,
                seq: self.seq,
                kind: (*self.kind).into(),
                fate,
                failures,
            });
        }
    }

    /// The writer puts the message into quarantine.
    pub(super) fn leaves(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// The failures so far.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The failures as they are stored.
pub(super) fn texts(failures: &[Failure]) -> Vec<String> {
    failures.iter().map(|failure| shortened(failure.to_string())).collect()
}

fn shortened(mut text: String) -> String {
    if text.len() > KEPT_BYTES {
        let end = (0..=KEPT_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !*self.has_ended.get_mut() {
            self.outlet.give_back(self.term, self.seq);
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("seq", &self.seq).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// What a handler knows about the delivery of its message. See [`Context::delivery`](crate::Context::delivery).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    id: MessageId,
    attempt: u32,
    after_crash: bool,
    accepted_at: SystemTime,
    fence: u64,
}

impl Delivery {
    /// The name of the message. It is the same for every attempt, in every process.
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// The number of this attempt, from 1. An attempt during which the process died does not count here.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the message may have been begun by a process that died: it was under way when a process died, or it
    /// waited when the machine stopped or an owner on a NATS server died. It is also `true` if this process may have
    /// begun the message before it lost the queue for a while. If it is `false` and the
    /// [attempt](Self::attempt) is 1, nobody has begun the message before, with two exceptions: an actor with a stash may
    /// have handled it out of turn, and a message that was retried from quarantine begins anew.
    /// Rule [27.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.6).
    pub fn after_crash(&self) -> bool {
        self.after_crash
    }

    /// When the message was handed over.
    pub fn accepted_at(&self) -> SystemTime {
        self.accepted_at
    }

    /// Grows with each owner of the queue. Of two deliveries that run at once, because a lease was lost, the older one has the
    /// smaller fence.
    pub fn fence(&self) -> u64 {
        self.fence
    }
}
