//! Where messages wait: a system lane and a user lane, one consumer, any number of senders.
//!
//! ```text
//!   senders ──push──► user lane   ─┐
//!                                  ├─► the cell: all of the system lane first, then one user message, and again
//!   actors ───push──► system lane ─┘
//! ```
//!
//! 1. The system lane never shares capacity with the user lane, and is never refused while the mailbox is open.
//! 2. What was pushed before [`close`](Mailbox::close) is in its leftovers, what comes later is given back. Nothing is lost.
//! 3. A sender wakes the cell only if it is parked for that lane; parking looks at the lanes under the same lock.
//! 4. No user code runs under the lock: what is refused or displaced is given back to be dropped outside.
//!
//! What the messages mean is not known here.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use tokio::sync::Semaphore;

use crate::actor_ref::AnyActorRef;
use crate::cell::Visit;

/// Where messages wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailboxKind {
    /// Holds as many messages as memory allows.
    Unbounded,
    /// Holds at most `capacity` messages.
    Bounded {
        /// How many messages fit. At least 1.
        capacity: usize,
        /// What happens to a `tell` or an ask when it is full.
        overflow: Overflow,
    },
}

/// What happens when a bounded mailbox is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The sender gets the message back.
    Fail,
    /// The new message goes to dead letters.
    DropNewest,
    /// The oldest waiting message goes to dead letters.
    DropOldest,
}

pub(crate) struct Mailbox<M, S> {
    /// Whether the system lane holds something. Written under the lock, read without: the one look per message.
    system_waits: AtomicBool,
    /// How many entries the cell has taken and not handled. Only the cell writes it.
    in_hand: AtomicUsize,
    lanes: Mutex<Lanes<M, S>>,
    bound: Option<Box<Bound>>,
}

struct Lanes<M, S> {
    system: VecDeque<S>,
    user: VecDeque<Entry<M>>,
    parked: Parked,
    waker: Option<Waker>,
    closed: bool,
}

struct Bound {
    overflow: Overflow,
    /// One permit for each message there is room for.
    room: Semaphore,
}

/// What waits in the user lane. Only messages take up room.
#[derive(Debug)]
pub(crate) enum Entry<M> {
    Message(M),
    /// Something of the runtime's that keeps its place among the messages.
    Control(Control),
}

/// What the runtime itself puts among the messages.
#[derive(Debug)]
pub(crate) enum Control {
    /// The news of a watched actor's end.
    Terminated(AnyActorRef),
    /// Stop, after what was sent before.
    PoisonPill,
    /// Fail with `Killed`, after what was sent before.
    Kill,
    /// A timer of the actor's own is due.
    Tick(crate::actor_timers::Generation),
    /// Code of the runtime's own, for a pattern.
    Visit(Visit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parked {
    No,
    ForSystem,
    ForAny,
}

/// What became of a message that was pushed.
#[derive(Debug)]
pub(crate) enum Pushed<M> {
    Taken,
    /// This message made room or was not let in; it is a dead letter.
    Displaced(M),
    /// There is no room and the sender is to know.
    Full(M),
    Closed(M),
}

/// What waited when the mailbox closed.
#[derive(Debug)]
pub(crate) struct Leftovers<M, S> {
    pub(crate) system: VecDeque<S>,
    pub(crate) user: VecDeque<Entry<M>>,
}

impl<M, S> Mailbox<M, S> {
    pub(crate) fn new(kind: MailboxKind) -> Self {
        let bound = match kind {
            MailboxKind::Unbounded => None,
            MailboxKind::Bounded { capacity, overflow } => {
                Some(Box::new(Bound { overflow, room: Semaphore::new(capacity.clamp(1, Semaphore::MAX_PERMITS)) }))
            }
        };
        let lanes = Lanes {
            system: VecDeque::new(),
            user: VecDeque::new(),
            parked: Parked::No,
            waker: None,
            closed: false,
        };
        Self {
            system_waits: AtomicBool::new(false),
            in_hand: AtomicUsize::new(0),
            lanes: Mutex::new(lanes),
            bound,
        }
    }

    // ---- senders -------------------------------------------------------------------------------------------------

    pub(crate) fn push(&self, message: M) -> Pushed<M> {
        if let Some(bound) = &self.bound {
            match bound.room.try_acquire() {
                Ok(permit) => permit.forget(),
                Err(tokio::sync::TryAcquireError::Closed) => return Pushed::Closed(message),
                Err(tokio::sync::TryAcquireError::NoPermits) => {
                    return match bound.overflow {
                        Overflow::Fail => Pushed::Full(message),
                        Overflow::DropNewest => Pushed::Displaced(message),
                        Overflow::DropOldest => self.displace(message),
                    };
                }
            }
        }
        match self.enqueue(Entry::Message(message)) {
            Ok(()) => Pushed::Taken,
            Err(Entry::Message(message)) => Pushed::Closed(message),
            Err(Entry::Control(_)) => unreachable!("a message was pushed"),
        }
    }

    /// Waits, in order, for room. Gives the message back when the mailbox closes.
    pub(crate) async fn push_when_room(&self, message: M) -> Result<(), M> {
        if let Some(bound) = &self.bound {
            match bound.room.acquire().await {
                Ok(permit) => permit.forget(),
                Err(_closed) => return Err(message),
            }
        }
        match self.enqueue(Entry::Message(message)) {
            Ok(()) => Ok(()),
            Err(Entry::Message(message)) => Err(message),
            Err(Entry::Control(_)) => unreachable!("a message was pushed"),
        }
    }

    /// Puts something of the runtime's at the tail of the user lane, whatever the capacity.
    pub(crate) fn push_control(&self, control: Control) -> Result<(), Control> {
        match self.enqueue(Entry::Control(control)) {
            Ok(()) => Ok(()),
            Err(Entry::Control(control)) => Err(control),
            Err(Entry::Message(_)) => unreachable!("a control was pushed"),
        }
    }

    fn enqueue(&self, entry: Entry<M>) -> Result<(), Entry<M>> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Err(entry);
        }
        lanes.user.push_back(entry);
        let waker = lanes.wake_if(Parked::ForAny);
        drop(lanes);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// Takes the place of the oldest waiting message.
    fn displace(&self, message: M) -> Pushed<M> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Pushed::Closed(message);
        }
        let oldest = lanes.user.iter().position(|entry| matches!(entry, Entry::Message(_)));
        let Some(Entry::Message(oldest)) = oldest.and_then(|at| lanes.user.remove(at)) else {
            // Whoever holds the room has not put its message in yet; this one came first.
            return Pushed::Displaced(message);
        };
        lanes.user.push_back(Entry::Message(message));
        Pushed::Displaced(oldest)
    }

    pub(crate) fn push_system(&self, message: S) -> Result<(), S> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Err(message);
        }
        lanes.system.push_back(message);
        self.system_waits.store(true, Ordering::Release);
        let waker = lanes.wake_if(Parked::ForSystem);
        drop(lanes);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    // ---- the cell ------------------------------------------------------------------------------------------------

    /// Whether the system lane holds something: one atomic load.
    pub(crate) fn system_waits(&self) -> bool {
        self.system_waits.load(Ordering::Acquire)
    }

    /// Moves all of the system lane into `batch`.
    pub(crate) fn take_system(&self, batch: &mut VecDeque<S>) {
        let mut lanes = self.lock();
        self.system_waits.store(false, Ordering::Release);
        batch.append(&mut lanes.system);
    }

    /// Moves what the cell may handle next into `batch`, which is empty: the whole lane, or one entry where a bound
    /// has to hold until a message is handled.
    pub(crate) fn take_user(&self, batch: &mut VecDeque<Entry<M>>) {
        let mut lanes = self.lock();
        match &self.bound {
            None => std::mem::swap(&mut lanes.user, batch),
            Some(bound) => {
                let entry = lanes.user.pop_front();
                drop(lanes);
                if let Some(Entry::Message(_)) = &entry {
                    bound.room.add_permits(1);
                }
                batch.extend(entry);
            }
        }
    }

    /// Says how many entries the cell has taken and not handled.
    pub(crate) fn set_in_hand(&self, entries: usize) {
        self.in_hand.store(entries, Ordering::Relaxed);
    }

    /// How many entries wait or are being handled. A hint: others send and handle meanwhile.
    pub(crate) fn pending(&self) -> usize {
        self.lock().user.len() + self.in_hand.load(Ordering::Relaxed)
    }

    /// Parks the cell until something comes: for the system lane alone, or for both. Ready at once if there is
    /// something already.
    pub(crate) fn poll_parked(&self, cx: &TaskContext<'_>, for_user: bool) -> Poll<()> {
        let mut lanes = self.lock();
        if !lanes.system.is_empty() || (for_user && !lanes.user.is_empty()) {
            lanes.parked = Parked::No;
            return Poll::Ready(());
        }
        lanes.parked = if for_user { Parked::ForAny } else { Parked::ForSystem };
        if lanes.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            lanes.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    pub(crate) fn close(&self) -> Leftovers<M, S> {
        let mut lanes = self.lock();
        lanes.closed = true;
        let leftovers =
            Leftovers { system: std::mem::take(&mut lanes.system), user: std::mem::take(&mut lanes.user) };
        lanes.waker = None;
        drop(lanes);
        if let Some(bound) = &self.bound {
            bound.room.close();
        }
        leftovers
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Lanes<M, S>> {
        // No user code runs under this lock, so it cannot be poisoned half-way.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M, S> Lanes<M, S> {
    /// The waker, if the cell is parked for a lane that just got something. A lane of `at_least` this kind.
    fn wake_if(&mut self, at_least: Parked) -> Option<Waker> {
        let parked_for_it = match at_least {
            Parked::ForSystem => self.parked != Parked::No,
            Parked::ForAny | Parked::No => self.parked == Parked::ForAny,
        };
        if !parked_for_it {
            return None;
        }
        self.parked = Parked::No;
        self.waker.take()
    }
}

impl<M, S> fmt::Debug for Mailbox<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}
