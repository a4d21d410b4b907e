//! Counts what happens to the actors of each type, for metrics.
//!
//! A look finds only the actors that exist at that moment. The tally also counts actors that start and end between
//! two looks. It adds the message counts of ended actors to its totals, so a total never falls. It creates no events
//! and no paths. Without a tally, the only cost is the load that checks for subscribers.
//!
//! Rule 24.2.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::interest::{Heard, Interest, Listening};

/// What happened to the actors of one type, since the first [`Tally`] of the system was taken and while there was one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lives {
    /// How many became ready for their first message.
    pub started: u64,
    /// How many new instances replaced a failed one.
    pub restarted: u64,
    /// How many handlers and hooks were dropped at an await point.
    pub aborted: u64,
    /// How many messages the actors that have ended took from their mailboxes.
    pub messages: u64,
    /// How many have ended, by the [reason](crate::EndReason::name).
    pub ended: BTreeMap<&'static str, u64>,
}

/// What happened to one actor.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Life {
    Started,
    Restarted,
    Aborted,
    Ended { why: &'static str, messages: u32 },
}

/// What is counted of a system, by the names of the types: as many as the program has.
#[derive(Debug, Default)]
pub(super) struct Tallied(Mutex<HashMap<&'static str, Lives>>);

impl Tallied {
    pub(super) fn count(&self, actor_type: &'static str, life: Life) {
        let mut types = self.types();
        let lives = types.entry(actor_type).or_default();
        match life {
            Life::Started => lives.started += 1,
            Life::Restarted => lives.restarted += 1,
            Life::Aborted => lives.aborted += 1,
            Life::Ended { why, messages } => {
                lives.messages += u64::from(messages);
                *lives.ended.entry(why).or_default() += 1;
            }
        }
    }

    fn types(&self) -> MutexGuard<'_, HashMap<&'static str, Lives>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts what happens to the actors of each type, as long as it lives: [`ActorSystem::tally`](crate::ActorSystem::tally).
pub struct Tally {
    tallied: Arc<Tallied>,
    _listening: Listening,
}

impl Tally {
    pub(super) fn new(tallied: &Arc<Tallied>, heard: &Arc<Heard>) -> Self {
        Self { tallied: Arc::clone(tallied), _listening: Heard::listen(heard, Interest::TALLY) }
    }

    /// The counts so far, by the name of the type as [`std::any::type_name`] returns it.
    pub fn lives(&self) -> HashMap<&'static str, Lives> {
        self.tallied.types().clone()
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally").finish_non_exhaustive()
    }
}
