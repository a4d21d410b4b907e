//! What supervision did, gathered from the system's event stream.
//!
//! How the stream's events look is known only to [`gather`].

use std::collections::BTreeMap;
use std::time::Duration;

use supervise::prelude::*;

use crate::connection::FeedError;

/// Counts of what happened.
#[derive(Debug, Default)]
pub(crate) struct SupervisionLog {
    /// By cause and directive.
    pub(crate) decisions: BTreeMap<(&'static str, &'static str), Decision>,
    /// Restarts that were completed. A delayed one is none if the actor was stopped before it was due.
    pub(crate) restarts: u32,
}

/// How often one directive was given for one cause, and how long it was put off.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub(crate) times: u32,
    pub(crate) delayed: u32,
    pub(crate) total_delay: Duration,
    pub(crate) longest_delay: Duration,
}

impl SupervisionLog {
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

/// Listens from now on, until the system has terminated.
///
/// The one place that knows the event stream.
pub(crate) fn gather(system: &ActorSystem) -> impl Future<Output = SupervisionLog> + Send + use<> {
    let mut events = system.events().subscribe();
    async move {
        let mut log = SupervisionLog::default();
        while let Some(event) = events.recv().await {
            match event {
                Event::Decided { failure, directive, delay, .. } => {
                    log.decided(cause_of(&failure), name_of(directive), delay);
                }
                Event::Restarted { .. } => log.restarts += 1,
                _ => {}
            }
        }
        log
    }
}

fn cause_of(failure: &Failure) -> &'static str {
    failure.downcast_ref::<FeedError>().map_or(failure.type_name(), FeedError::cause)
}

fn name_of(directive: Directive) -> &'static str {
    match directive {
        Directive::Resume => "Resume",
        Directive::Restart | Directive::RestartAfter(_) => "Restart",
        Directive::Stop => "Stop",
        Directive::Escalate => "Escalate",
        _ => "other",
    }
}
