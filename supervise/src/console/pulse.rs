//! How long a new task waits for a thread of the system's runtime.
//!
//! Rule 22.3.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::cards::{Card, Kind, name};
use super::sight::{Sight, Time};
use super::words::{Span, some_of};

/// A task that waits for this long has found no thread in time.
const LATE: Duration = Duration::from_millis(250);
/// The runtime is short of threads if the tasks of this many looks in a row were late.
const LOOKS: u32 = 3;
/// How many of the actors that run are named.
const NAMED: usize = 5;

/// A task that does nothing but note when it runs.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// When the last task was spawned, and when it ran.
    last: Option<(Instant, Arc<OnceLock<Instant>>)>,
}

impl Pulse {
    /// How long the last task waited, or has waited until now. Spawns the next one if that has run. `None`: there was none.
    pub(super) fn beat(&mut self, runtime: &Handle) -> Option<Duration> {
        let now = Instant::now();
        let waited = self.last.as_ref().map(|(spawned, ran)| {
            let until = ran.get().copied().unwrap_or(now);
            until.saturating_duration_since(*spawned)
        });
        if self.last.as_ref().is_none_or(|(_, ran)| ran.get().is_some()) {
            let ran = Arc::new(OnceLock::new());
            self.last = Some((now, Arc::clone(&ran)));
            runtime.spawn(async move {
                _ = ran.set(Instant::now());
            });
        }
        waited
    }
}

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
            path: "/user".to_owned(),
            actor_type: String::new(),
            subject: String::new(),
            since: Some(self.since),
            says: format!("A new task waited {} for a thread of the runtime.{whom}", Span(self.waited)),
            moments: Vec::new(),
            cause: None,
            weight: 0,
            near_limit: false,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The time until a task runs is that of the runtime's threads: here the only one is the test's own.
    #[test]
    fn a_task_that_has_not_run_is_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut pulse = Pulse::default();
        assert_eq!(pulse.beat(runtime.handle()), None);
        let first = pulse.beat(runtime.handle()).expect("there was a task");
        let second = pulse.beat(runtime.handle()).expect("it has not run");
        assert!(second >= first);
        runtime.block_on(tokio::task::yield_now());
        let ran = pulse.beat(runtime.handle()).expect("it has run");
        assert!(ran >= second);
        let next = pulse.last.as_ref().expect("the next one");
        assert!(next.1.get().is_none(), "it was spawned just now");
    }
}
