//! What supervision did, gathered from the system's event stream.

use std::collections::BTreeMap;
use std::time::Duration;

use supervise::prelude::*;
use supervise::{Directive, Event, Outcome};
use tokio::task::JoinHandle;

use crate::connection::FeedError;

/// Counts of what happened.
#[derive(Debug, Default)]
pub(crate) struct SupervisionLog {
    /// By cause and directive.
    pub(crate) decisions: BTreeMap<(&'static str, &'static str), Decision>,
    /// Restarts that were completed. A delayed restart does not count if the actor was stopped before it was due.
    pub(crate) restarts: u32,
    /// Events that were missed because they came too fast.
    pub(crate) missed: u64,
}

/// How often a directive was given for a cause, and how long it was delayed.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub(crate) times: u32,
    pub(crate) delayed: u32,
    pub(crate) total_delay: Duration,
    pub(crate) longest_delay: Duration,
}

impl SupervisionLog {
    /// Counts an event if it is one of ours. This is the only place that knows the events.
    fn note(&mut self, event: &Event) {
        match event {
            Event::Decided { failure, directive, outcome, .. } => {
                self.decided(cause_of(failure), name_of(*directive, *outcome), delay_of(*outcome));
            }
            Event::Restarted { .. } => self.restarts += 1,
            Event::Missed(missed) => self.missed += missed,
            _ => {}
        }
    }

    pub(crate) fn decided(&mut self, cause: &'static str, directive: &'static str, delay: Option<Duration>) {
        let decision = self.decisions.entry((cause, directive)).or_default();
        decision.times += 1;
        if let Some(delay) = delay {
            decision.delayed += 1;
            decision.total_delay += delay;
            decision.longest_delay = decision.longest_delay.max(delay);
        }
    }
}

/// Gathers events from now on until the system has ended.
pub(crate) fn gather(system: &ActorSystem) -> JoinHandle<SupervisionLog> {
    let mut events = system.events().subscribe();
    tokio::spawn(async move {
        let mut log = SupervisionLog::default();
        while let Some(event) = events.recv().await {
            log.note(&event);
        }
        log
    })
}

fn cause_of(failure: &Failure) -> &'static str {
    failure.downcast_ref::<FeedError>().map_or(failure.type_name(), FeedError::cause)
}

/// The decision, or its outcome if the limit refused it.
fn name_of(directive: Directive, outcome: Outcome) -> &'static str {
    if let Outcome::LimitReached { .. } = outcome {
        return "Stop at the limit";
    }
    match directive {
        Directive::Resume => "Resume",
        Directive::Restart | Directive::RestartAfter(_) => "Restart",
        Directive::Stop => "Stop",
        Directive::Escalate => "Escalate",
        _ => "another directive",
    }
}

fn delay_of(outcome: Outcome) -> Option<Duration> {
    match outcome {
        Outcome::Restarting { delay, .. } => delay,
        _ => None,
    }
}
