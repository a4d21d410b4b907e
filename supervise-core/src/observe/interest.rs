//! Which events have a subscriber, as a bit mask, so that other events are not created.

use std::fmt;
use std::ops::BitOr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::event::Event;
use crate::failure::Failure;
use crate::supervision::Note;

/// Which events a subscriber wants: [`EventStream::subscribe_to`](crate::EventStream::subscribe_to). `|` joins two.
///
/// ```
/// # extern crate supervise_core as supervise;
/// use supervise::Interest;
///
/// let losses = Interest::FAILURES | Interest::DEAD_LETTERS;
/// assert!(losses.includes(Interest::FAILURES) && !losses.includes(Interest::LIVES));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(u8);

const KINDS: usize = 5;

impl Interest {
    /// Failures and what is decided about them: [`Event::Decided`](crate::Event::Decided), `LimitReached`, `DeciderFailed`,
    /// `ReportDeferred`, `ReportDropped`, `HookFailed`, `Aborted`, `Intervened`, `GaveUp`, `ReplacementDelayed`, and those of other nodes: `NodeUp`, `NodeDown`, `NodeRefused`.
    /// With the feature `durable` also what happens to the message store.
    pub const FAILURES: Self = Self(1);
    /// [`Event::Restarted`](crate::Event::Restarted) and `Resumed`.
    pub const RESTARTS: Self = Self(2);
    /// [`Event::Started`](crate::Event::Started) and `Stopped`. With the feature `durable` also `Kept`.
    pub const LIVES: Self = Self(4);
    /// [`Event::DeadLetter`](crate::Event::DeadLetter). With the feature `durable` also `Quarantined`.
    pub const DEAD_LETTERS: Self = Self(8);
    /// All events.
    pub const ALL: Self = Self(0xf);

    /// What a [`Tally`](super::Tally) counts. No event is of this kind.
    pub(super) const TALLY: Self = Self(0x10);

    /// Whether all of `other` is part of it.
    pub const fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The events that a note becomes.
    pub(super) fn in_note(note: &Note<Failure>) -> Option<Self> {
        Some(match note {
            Note::Decided { .. }
            | Note::DeciderFailed { .. }
            | Note::ReportDeferred(_)
            | Note::ReportDropped(..)
            | Note::HookFailed(..)
            | Note::Aborted => Self::FAILURES,
            Note::Restarted(_) | Note::Resumed => Self::RESTARTS,
            Note::Started { .. } | Note::Stopped(_) => Self::LIVES,
            Note::TurnedIntoCreate | Note::TurnedIntoRestart => return None,
        })
    }

    /// `None`: every subscriber gets it.
    pub(super) fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::Decided { .. }
            | Event::Intervened { .. }
            | Event::GaveUp { .. }
            | Event::ReplacementDelayed { .. }
            | Event::LimitReached { .. }
            | Event::DeciderFailed { .. }
            | Event::ReportDeferred { .. }
            | Event::ReportDropped { .. }
            | Event::HookFailed { .. }
            | Event::Aborted { .. }
            | Event::NodeUp { .. }
            | Event::NodeDown { .. }
            | Event::NodeRefused { .. } => Self::FAILURES,
            Event::Restarted { .. } | Event::Resumed { .. } => Self::RESTARTS,
            Event::Started { .. } | Event::Stopped { .. } => Self::LIVES,
            Event::DeadLetter(_) => Self::DEAD_LETTERS,
            #[cfg(feature = "durable")]
            Event::Kept { .. } => Self::LIVES,
            #[cfg(feature = "durable")]
            Event::Quarantined { .. } => Self::DEAD_LETTERS,
            #[cfg(feature = "durable")]
            Event::StoreFailed { .. }
            | Event::StoreOpened
            | Event::MessagesMissing { .. }
            | Event::QueueUnowned { .. } => Self::FAILURES,
            Event::Missed(_) => return None,
        })
    }
}

impl Interest {
    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            (Self::FAILURES, "FAILURES"),
            (Self::RESTARTS, "RESTARTS"),
            (Self::LIVES, "LIVES"),
            (Self::DEAD_LETTERS, "DEAD_LETTERS"),
        ];
        let names: Vec<&str> = kinds.iter().filter(|kind| self.includes(kind.0)).map(|kind| kind.1).collect();
        write!(f, "Interest({})", names.join(" | "))
    }
}

/// What the subscribers of a system want together.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Follows from `listeners`, and is written under its lock.
    any: AtomicU8,
    /// How many subscribers want each kind.
    listeners: Mutex<[usize; KINDS]>,
}

impl Heard {
    /// Whether any of these has a subscriber.
    pub(super) fn any(&self, interest: Interest) -> bool {
        self.any.load(Ordering::Relaxed) & interest.0 != 0
    }

    pub(super) fn listen(heard: &Arc<Self>, interest: Interest) -> Listening {
        heard.count(interest, |listeners| listeners + 1);
        Listening { heard: Arc::clone(heard), interest }
    }

    fn count(&self, interest: Interest, change: fn(usize) -> usize) {
        let mut listeners = self.listeners();
        let mut any = 0;
        for (kind, listeners) in listeners.iter_mut().enumerate() {
            let bit = 1 << kind;
            if interest.0 & bit != 0 {
                *listeners = change(*listeners);
            }
            if *listeners > 0 {
                any |= bit;
            }
        }
        self.any.store(any, Ordering::Relaxed);
    }

    fn listeners(&self) -> MutexGuard<'_, [usize; KINDS]> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one subscriber wants, until it is dropped.
#[derive(Debug)]
pub(super) struct Listening {
    heard: Arc<Heard>,
    interest: Interest,
}

impl Listening {
    /// Whether the subscriber wants events of this kind. `None`: every subscriber gets them.
    pub(super) fn hears(&self, kind: Option<Interest>) -> bool {
        kind.is_none_or(|kind| self.interest.includes(kind))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.heard.count(self.interest, |listeners| listeners - 1);
    }
}
