//! Dead letters with their messages, for programs that ask for them.
//!
//! Most systems do not ask. Then this costs one load for each dead letter.
//!
//! Rule 10.10.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::DeadLetter;
use crate::base::drop_contained;

/// A dead letter and its message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LostMessage<M> {
    /// The message that was lost.
    pub message: M,
    /// The dead letter: the recipient, and why the message was lost.
    pub letter: DeadLetter,
}

/// The lost messages of one type: see [`ActorSystem::lost_messages`](crate::ActorSystem::lost_messages).
pub struct LostMessages<M> {
    lost: mpsc::Receiver<LostMessage<M>>,
    missed: Arc<AtomicU64>,
}

impl<M> LostMessages<M> {
    /// Waits for the next lost message. `None` when the system has ended, or when another caller has asked for the messages of this type.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, no message is lost.
    pub async fn recv(&mut self) -> Option<LostMessage<M>> {
        self.lost.recv().await
    }

    /// The next lost message, if one waits.
    pub fn try_recv(&mut self) -> Option<LostMessage<M>> {
        self.lost.try_recv().ok()
    }

    /// How many lost messages found no room here. They were dropped, like every dead letter that nobody asks for.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

impl<M> fmt::Debug for LostMessages<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LostMessages").field("missed", &self.missed()).finish_non_exhaustive()
    }
}

type AnyMessage = Box<dyn Any + Send>;

/// Gives lost messages of one type to the caller that asked for them.
pub(crate) struct Keeper {
    split: fn(AnyMessage) -> Split,
    give: Box<dyn Fn(AnyMessage, DeadLetter) + Send + Sync>,
}

/// What was sent, in two parts: the message, and everything else that is dropped with it, such as the asker's slot.
pub(crate) struct Split {
    pub(crate) message: AnyMessage,
    pub(crate) rest: AnyMessage,
}

impl Keeper {
    pub(crate) fn split(&self, sent: impl Any + Send) -> Split {
        (self.split)(Box::new(sent))
    }
}

/// A message that is given away when its dead letter is reported.
pub(crate) struct KeptMessage {
    pub(crate) message: AnyMessage,
    pub(crate) keeper: Arc<Keeper>,
}

impl KeptMessage {
    pub(super) fn give(self, letter: DeadLetter) {
        (self.keeper.give)(self.message, letter);
    }
}

impl fmt::Debug for KeptMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptMessage")
    }
}

/// The keepers of one system, by the type of what was sent. No user code runs under its lock.
pub(super) struct Keepers {
    are_some: AtomicBool,
    /// `None` when the system has ended.
    by_type: Mutex<Option<HashMap<TypeId, Arc<Keeper>>>>,
}

impl Default for Keepers {
    fn default() -> Self {
        Self { are_some: AtomicBool::new(false), by_type: Mutex::new(Some(HashMap::new())) }
    }
}

impl Keepers {
    /// Keeps lost messages `M`, at most `capacity` at a time. `S` is what is sent, and `split` takes it apart.
    pub(super) fn keep<S: 'static, M: Send + 'static>(
        &self,
        capacity: usize,
        split: fn(AnyMessage) -> Split,
    ) -> LostMessages<M> {
        let (give, lost) = mpsc::channel(capacity);
        let missed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&missed);
        let give = move |message: AnyMessage, letter| {
            let Ok(message) = message.downcast() else { return };
            if let Err(refused) = give.try_send(LostMessage { message: *message, letter }) {
                counted.fetch_add(1, Ordering::Relaxed);
                drop_contained(refused);
            }
        };
        let keeper = Arc::new(Keeper { split, give: Box::new(give) });
        // After the system's end the keeper is dropped here, and `recv` returns `None` at once.
        let replaced = match &mut *self.by_type() {
            Some(keepers) => keepers.insert(TypeId::of::<S>(), keeper),
            None => Some(keeper),
        };
        self.are_some.store(true, Ordering::Release);
        drop(replaced);
        LostMessages { lost, missed }
    }

    /// The keeper of what was sent.
    pub(super) fn of<S: 'static>(&self) -> Option<Arc<Keeper>> {
        if !self.are_some.load(Ordering::Acquire) {
            return None;
        }
        self.by_type().as_ref()?.get(&TypeId::of::<S>()).cloned()
    }

    /// Drops the keepers, because the system has ended.
    pub(super) fn end(&self) {
        let keepers = self.by_type().take();
        drop(keepers);
    }

    fn by_type(&self) -> MutexGuard<'_, Option<HashMap<TypeId, Arc<Keeper>>>> {
        self.by_type.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
