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
//! 3. Between its turns the cell's runner is parked in here. Who pushes gets it, if it waits for that lane, and has to let
//!    it run; parking looks at the lanes under the same lock.
//! 4. No user code runs under the lock: what is refused or displaced is given back to be dropped outside.
//!
//! What the messages mean is not known here.
//!
//! Rules 1.2 and 1.6.

#[cfg(all(test, supervise_loom))]
mod loom_tests;

use std::collections::VecDeque;
use std::fmt;

use crate::actor_ref::AnyActorRef;
use crate::cell::Visit;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError, Semaphore, TryAcquireError};

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

/// A mailbox for messages `M`, system messages `S`, and a runner `R`.
pub(crate) struct Mailbox<M, S, R> {
    /// Whether the system lane holds something. Written under the lock, read without: the one look per message.
    system_waits: AtomicBool,
    /// How many entries the cell has taken and not handled. Only the cell writes it.
    in_hand: AtomicUsize,
    /// Whether the runner, when it parks, waits for the user lane too. Only the cell writes it.
    accepts: AtomicBool,
    lanes: Mutex<Lanes<M, S, R>>,
    bound: Option<Box<Bound>>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Lanes<M, S, R> {
    system: VecDeque<S>,
    user: VecDeque<Entry<M>>,
    /// Here while it has nothing to do.
    runner: Option<R>,
    /// Whether there is a parked runner, or was, that waits for the user lane too.
    for_user: bool,
    /// The runner was to run again while it ran.
    woken: bool,
    closed: bool,
    /// A message waits without room, because all of it was with others, on their way from the lane or to it. The next
    /// who has room gives it to that message.
    owed: bool,
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

/// What became of a message that was pushed.
#[derive(Debug)]
#[must_use = "a runner that is given out has to run"]
pub(crate) enum Pushed<M, R> {
    /// With the runner, if it waited for this.
    Taken(Option<R>),
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

impl<M, S, R> Mailbox<M, S, R> {
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
            runner: None,
            for_user: false,
            woken: false,
            closed: false,
            owed: false,
        };
        Self {
            system_waits: AtomicBool::new(false),
            in_hand: AtomicUsize::new(0),
            accepts: AtomicBool::new(false),
            lanes: Mutex::new(lanes),
            bound,
        }
    }

    // ---- senders -------------------------------------------------------------------------------------------------

    #[inline]
    pub(crate) fn push(&self, message: M) -> Pushed<M, R> {
        match &self.bound {
            None => self.push_unbounded(message),
            Some(bound) => self.push_within(bound, message),
        }
    }

    #[expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it")]
    #[inline(always)]
    fn push_unbounded(&self, message: M) -> Pushed<M, R> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Pushed::Closed(message);
        }
        Pushed::Taken(lanes.enqueue(Entry::Message(message)))
    }

    // Apart, so that unbounded mailboxes do not pay for what they have not.
    #[inline(never)]
    fn push_within(&self, bound: &Bound, mut message: M) -> Pushed<M, R> {
        loop {
            match bound.room.try_acquire() {
                Ok(permit) => permit.forget(),
                Err(TryAcquireError::Closed) => return Pushed::Closed(message),
                Err(TryAcquireError::NoPermits) => {
                    return match bound.overflow {
                        Overflow::Fail => Pushed::Full(message),
                        Overflow::DropNewest => Pushed::Displaced(message),
                        Overflow::DropOldest => self.displace(message),
                    };
                }
            }
            match self.push_with_room(message) {
                Ok(pushed) => return pushed,
                Err(again) => message = again,
            }
        }
    }

    /// Waits, in order, for room. Gives the runner, if it waited for this; or the message back when the mailbox closes.
    pub(crate) async fn push_when_room(&self, mut message: M) -> Result<Option<R>, M> {
        loop {
            if let Some(bound) = &self.bound {
                match bound.room.acquire().await {
                    Ok(permit) => permit.forget(),
                    Err(_closed) => return Err(message),
                }
            }
            match self.push_with_room(message) {
                Ok(Pushed::Taken(runner)) => return Ok(runner),
                Ok(Pushed::Closed(message) | Pushed::Full(message) | Pushed::Displaced(message)) => {
                    return Err(message);
                }
                Err(again) => message = again,
            }
        }
    }

    /// Gives the message back if its room went to one that waits without.
    fn push_with_room(&self, message: M) -> Result<Pushed<M, R>, M> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Ok(Pushed::Closed(message));
        }
        if std::mem::take(&mut lanes.owed) {
            return Err(message);
        }
        Ok(Pushed::Taken(lanes.enqueue(Entry::Message(message))))
    }

    /// Puts something of the runtime's at the tail of the user lane, whatever the capacity.
    pub(crate) fn push_control(&self, control: Control) -> Result<Option<R>, Control> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Err(control);
        }
        Ok(lanes.enqueue(Entry::Control(control)))
    }

    /// Takes the place of the oldest waiting message.
    fn displace(&self, message: M) -> Pushed<M, R> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Pushed::Closed(message);
        }
        let oldest = lanes.user.iter().position(|entry| matches!(entry, Entry::Message(_)));
        let Some(Entry::Message(oldest)) = oldest.and_then(|at| lanes.user.remove(at)) else {
            // Nothing older waits, and this may be the last one that ever comes.
            lanes.owed = true;
            return Pushed::Taken(lanes.enqueue(Entry::Message(message)));
        };
        lanes.user.push_back(Entry::Message(message));
        Pushed::Displaced(oldest)
    }

    /// Gives the runner, if it waited for something; or the message back.
    pub(crate) fn push_system(&self, message: S) -> Result<Option<R>, S> {
        let mut lanes = self.lock();
        if lanes.closed {
            return Err(message);
        }
        reserve_first(&mut lanes.system);
        lanes.system.push_back(message);
        self.system_waits.store(true, Ordering::Release);
        Ok(lanes.runner.take())
    }

    /// Something else has come up for the runner: gives it, if it is parked; otherwise it does not park next time.
    #[must_use = "a runner that is given out has to run"]
    pub(crate) fn wake(&self) -> Option<R> {
        let mut lanes = self.lock();
        let runner = lanes.runner.take();
        lanes.woken = runner.is_none();
        runner
    }

    // ---- the cell ------------------------------------------------------------------------------------------------

    /// Whether the system lane holds something: one atomic load.
    pub(crate) fn system_waits(&self) -> bool {
        self.system_waits.load(Ordering::Acquire)
    }

    /// Takes the first of the system lane.
    pub(crate) fn take_system(&self) -> Option<S> {
        let mut lanes = self.lock();
        let message = lanes.system.pop_front();
        self.system_waits.store(!lanes.system.is_empty(), Ordering::Release);
        message
    }

    /// Moves what the cell may handle next into `batch`, which is empty: the whole lane, or one entry where a bound
    /// has to hold until a message is handled. Answers whether that was all.
    pub(crate) fn take_user(&self, batch: &mut VecDeque<Entry<M>>) -> bool {
        let mut lanes = self.lock();
        match &self.bound {
            None => {
                std::mem::swap(&mut lanes.user, batch);
                true
            }
            Some(bound) => {
                let entry = lanes.user.pop_front();
                let that_was_all = lanes.user.is_empty();
                let had_room = matches!(entry, Some(Entry::Message(_))) && !std::mem::take(&mut lanes.owed);
                drop(lanes);
                if had_room {
                    bound.room.add_permits(1);
                }
                batch.extend(entry);
                that_was_all
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

    /// Says whether the runner waits for the user lane too, the next time it parks.
    pub(crate) fn set_accepts(&self, accepts: bool) {
        self.accepts.store(accepts, Ordering::Relaxed);
    }

    /// Parks the runner until something comes. Given back if something has.
    pub(crate) fn park(&self, runner: R) -> Result<(), R> {
        let for_user = self.accepts.load(Ordering::Relaxed);
        let mut lanes = self.lock();
        if lanes.woken || !lanes.system.is_empty() || (for_user && !lanes.user.is_empty()) {
            lanes.woken = false;
            return Err(runner);
        }
        lanes.for_user = for_user;
        lanes.runner = Some(runner);
        Ok(())
    }

    /// Takes the runner away from here.
    pub(crate) fn unpark(&self) -> Option<R> {
        self.lock().runner.take()
    }

    pub(crate) fn close(&self) -> Leftovers<M, S> {
        let mut lanes = self.lock();
        lanes.closed = true;
        let leftovers =
            Leftovers { system: std::mem::take(&mut lanes.system), user: std::mem::take(&mut lanes.user) };
        drop(lanes);
        if let Some(bound) = &self.bound {
            bound.room.close();
        }
        leftovers
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Lanes<M, S, R>> {
        // No user code runs under this lock, so it cannot be poisoned half-way.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Most actors never have more than one thing waiting.
#[inline]
fn reserve_first<T>(lane: &mut VecDeque<T>) {
    if lane.capacity() == 0 {
        lane.reserve_exact(1);
    }
}

impl<M, S, R> Lanes<M, S, R> {
    /// Gives the runner, if it waited for this.
    #[expect(clippy::inline_always, reason = "every message goes this way; a call costs a tenth of it")]
    #[inline(always)]
    fn enqueue(&mut self, entry: Entry<M>) -> Option<R> {
        reserve_first(&mut self.user);
        self.user.push_back(entry);
        if std::mem::take(&mut self.for_user) { self.runner.take() } else { None }
    }
}

impl<M, S, R> fmt::Debug for Mailbox<M, S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}
