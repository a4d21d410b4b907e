//! Whether the system's runtime is short of threads, and which handlers run on them.
//!
//! Rule 22.3.

use std::time::Duration;

use super::cards::{Card, Kind, name};
use super::sight::{Sight, Time};
use super::words::{Span, some_of};

/// A task that waits for this long has found no thread in time.
const LATE: Duration = Duration::from_millis(250);
/// The runtime is short of threads if the tasks of this many looks in a row were late.
const LOOKS: u32 = 3;
/// How many of the actors that run are named.
const NAMED: usize = 5;

/// What the looks so far found about the threads.
#[derive(Debug, Clone, Default)]
pub(super) struct Threads {
    waited: Duration,
    /// How many looks in a row found a task that was late.
    late: u32,
    since: Time,
}

impl Threads {
    pub(super) fn note(&mut self, waited: Option<Duration>, now: Time) {
        match waited.filter(|waited| *waited >= LATE) {
            Some(waited) => {
                if self.late == 0 {
                    self.since = now.saturating_sub(waited);
                }
                self.waited = waited;
                self.late = self.late.saturating_add(1);
            }
            None => self.late = 0,
        }
    }

    /// The card, if the runtime is short of threads.
    pub(super) fn card(&self, running: &Handlers) -> Option<Card> {
        if self.late < LOOKS {
            return None;
        }
        let whom = match running.actors {
            0 => String::new(),
            all => {
                let named = some_of(running.named.iter().map(String::as_str), NAMED, all);
                format!(" In a handler and not at an `.await`: {named}.")
            }
        };
        Some(Card {
            kind: Kind::ShortOfThreads,
            actors: 1,
            path: "/".to_owned(),
            actor_type: "the runtime".to_owned(),
            subject: String::new(),
            since: Some(self.since),
            says: format!("A new task waited {} for a thread of the runtime.{whom}", Span(self.waited)),
            moments: Vec::new(),
            cause: None,
            weight: 0,
            near_limit: false,
            at_least: false,
            goes: None,
        })
    }
}

/// The actors that one look found in a handler and not at an await point.
#[derive(Debug, Default)]
pub(super) struct Handlers {
    actors: usize,
    named: Vec<String>,
}

impl Handlers {
    pub(super) fn see(&mut self, sight: &Sight<'_>, path: &str) {
        if !sight.handling || sight.parked {
            return;
        }
        self.actors += 1;
        if self.named.len() < NAMED {
            let handler = sight.handler.map_or_else(String::new, |handler| format!(" in `{handler}`"));
            self.named.push(format!("{}{handler}", name(path)));
        }
    }
}
