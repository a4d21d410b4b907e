//! What pools and backoff supervisors report about their children.

use std::time::Duration;

use super::{Event, Interest, Observer, log, logs, told};
use crate::base::{ActorPath, Uid};
use crate::failure::Failure;

/// When a backoff supervisor replaces its child: see [`Event::ReplacementDelayed`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delayed {
    pub(crate) delay: Duration,
    pub(crate) attempt: u32,
    pub(crate) failures: u32,
}

impl Observer {
    /// Tells the subscribers that a pool or a backoff supervisor stops because a failure ended its last child.
    pub(crate) fn gave_up(
        &self,
        actor: ActorPath,
        actor_type: &'static str,
        [uid, supervisor_uid]: [Uid; 2],
        failure: &Failure,
    ) {
        if self.events.hears(Interest::FAILURES) {
            let failure = failure.clone();
            self.events.publish(Event::GaveUp { actor, actor_type, uid, supervisor_uid, failure });
        }
    }

    /// Reports that a backoff supervisor waits until it replaces a child that a failure ended.
    ///
    /// Rule 13.4.
    pub(crate) fn replacement_delayed(&self, uid: Uid, child: impl FnOnce() -> ActorPath, delayed: Delayed) {
        let (heard, logs) = (self.events.hears(Interest::FAILURES), logs());
        if !heard && !logs {
            return;
        }
        let child = child();
        if logs {
            // If the child is a pool or a backoff supervisor that gave up its own last child, nobody decided about it, but giving up has a line.
            let loudly = self.failures().has_line(uid).unwrap_or(true);
            told(|| log::replacement_delayed(&child, delayed, loudly));
        }
        if heard {
            let Delayed { delay, attempt, failures } = delayed;
            self.events.publish(Event::ReplacementDelayed { child, delay, attempt, failures });
        }
    }
}
