//! Telling what happened: to the event stream and as `tracing` events under the target `supervise`.
//!
//! Each thing is said once, here. What happened is decided elsewhere.
//!
//! 1. (rule 10.3) A subscriber is user code, and so is the `Display` of the error it is told of: what panics here stays here, and
//!    nothing that happens depends on it.

use std::time::Duration;

use crate::cell::Core;
use crate::coordinated_shutdown::ShutdownReason;
use crate::dead_letter::{DeadLetter, DeadLetterReason, Line, Lost};
use crate::event::Event;
use crate::failure::Failure;
use crate::path::ActorPath;
use crate::supervision::{ChildId, LogLevel, Note, Strategy};
use crate::system::SystemCore;
use crate::unwind::{contained, drop_silently};

/// Whether anybody would learn of an event.
pub(crate) fn is_heard(system: &SystemCore) -> bool {
    system.events().is_heard() || contained(log::is_on).unwrap_or(false)
}

/// Tells what a cell's protocol noted, if that [is heard](is_heard). `path_of` names the child a note is about.
pub(crate) fn note(
    core: &Core,
    note: Note<Failure>,
    path_of: impl FnOnce(ChildId) -> Option<ActorPath>,
    strategy: &Strategy,
) {
    let events = core.system.events();
    let actor = core.path();
    let child = note.child().and_then(path_of);
    if !told(|| log::note(&actor, &note, child.as_ref(), strategy)) {
        told(|| log::unsaid(&actor, child.as_ref()));
    }
    let unknown = || actor.clone();
    let event = match note {
        Note::Started => Event::Started { actor },
        Note::Restarted(failure) => Event::Restarted { actor, failure },
        Note::Resumed => Event::Resumed { actor },
        Note::Stopped(how) => Event::Stopped { actor, how },
        Note::Decided { cause, directive, outcome, .. } => Event::Decided {
            child: child.unwrap_or_else(unknown),
            supervisor: actor,
            failure: cause,
            directive: *directive,
            outcome,
        },
        Note::DeciderFailed { cause, about, .. } => {
            Event::DeciderFailed { child: child.unwrap_or_else(unknown), supervisor: actor, failure: cause, about }
        }
        Note::ReportDeferred(_) => {
            Event::ReportDeferred { child: child.unwrap_or_else(unknown), supervisor: actor }
        }
        Note::ReportDropped(_, failure) => Event::ReportDropped { supervisor: actor, failure },
        Note::HookFailed(hook, failure) => Event::HookFailed { actor, hook, failure },
        Note::Aborted => Event::Aborted { actor },
        Note::TurnedIntoCreate | Note::TurnedIntoRestart => return,
    };
    events.publish(event);
}

/// Tells that a message reached nobody.
pub(crate) fn dead_letter(system: &SystemCore, recipient: impl FnOnce() -> ActorPath, lost: Lost) {
    let heard = system.events().is_heard();
    let loudness = loudness(system, &lost);
    if !heard && loudness.is_none() {
        return;
    }
    let Lost { message, reason, failures, deliveries, .. } = lost;
    let letter = DeadLetter { recipient: recipient(), message, reason, failures, deliveries };
    match loudness {
        None => {}
        Some(LogLevel::Warn) => _ = told(|| log::quarantined(&letter)),
        Some(LogLevel::Info) => _ = told(|| log::dead_letter(&letter)),
        Some(_) => _ = told(|| log::quiet_dead_letter(&letter)),
    }
    if heard {
        system.events().publish(Event::DeadLetter(letter));
    }
}

/// How loudly a dead letter is logged, if at all. What is to be said besides is said here.
///
/// Rule 10.4.
fn loudness(system: &SystemCore, lost: &Lost) -> Option<LogLevel> {
    let on = |level| contained(|| log::is_on_at(level)).unwrap_or(false);
    let quietly = || on(LogLevel::Debug).then_some(LogLevel::Debug);
    if lost.reason == DeadLetterReason::Quarantined {
        return on(LogLevel::Warn).then_some(LogLevel::Warn);
    }
    if lost.answered || !on(LogLevel::Info) {
        return quietly();
    }
    if system.is_ending() {
        system.dead_letters().miss();
        return quietly();
    }
    let line = system.dead_letters().count(system.now());
    match line {
        Line::Missed => return quietly(),
        Line::Own { missed: 0 } => {}
        Line::Own { missed } => _ = told(|| log::dead_letters_missed(missed)),
        Line::Last => _ = told(log::dead_letters_pause),
    }
    Some(LogLevel::Info)
}

/// Tells, at the end of a system, how many dead letters had no line.
pub(crate) fn dead_letters_end(system: &SystemCore) {
    let missed = system.dead_letters().take_missed();
    if missed > 0 {
        told(|| log::dead_letters_missed(missed));
    }
}

/// Tells that a user's value panicked while it was dropped.
pub(crate) fn drop_panicked(type_name: &str) {
    told(|| log::drop_panicked(type_name));
}

/// Tells that the runtime's own code panicked.
pub(crate) fn cell_broke(actor: &ActorPath, failure: &Failure) {
    told(|| log::cell_broke(actor, failure));
}

/// Tells that the root guardian itself failed, so that the system ends.
pub(crate) fn root_failed(failure: &Failure) {
    told(|| log::root_failed(failure));
}

/// Tells that a callback of the system's end panicked.
pub(crate) fn termination_callback_failed(failure: &Failure) {
    told(|| log::termination_callback_failed(failure));
}

/// Tells that the process ends now, in the middle of a shutdown.
#[cfg(feature = "signal")]
pub(crate) fn second_signal(signal: &str) {
    told(|| log::second_signal(signal));
}

/// Tells that the coordinated shutdown begins.
pub(crate) fn shutdown_begins(reason: &ShutdownReason) {
    told(|| log::shutdown_begins(reason));
}

/// Tells that a task of the coordinated shutdown failed.
pub(crate) fn shutdown_task_failed(phase: &str, task: &str, failure: &Failure) {
    told(|| log::shutdown_task_failed(phase, task, failure));
}

/// Tells that a phase of the coordinated shutdown is skipped, with the tasks it would have run.
pub(crate) fn shutdown_phase_skipped(phase: &str, tasks: &[&str]) {
    told(|| log::shutdown_phase_skipped(phase, tasks));
}

/// Tells that a phase of the coordinated shutdown took too long.
pub(crate) fn shutdown_phase_timed_out(phase: &str, timeout: Duration, tasks: &[String]) {
    told(|| log::shutdown_phase_timed_out(phase, timeout, tasks));
}

/// Whether it was told. Invariant 1.
fn told(mut log: impl FnMut()) -> bool {
    fn contained_once(log: &mut dyn FnMut()) -> bool {
        // Silently, because a payload that panics when it is dropped would be logged again.
        contained(log).map_err(|payload| drop_silently(payload.into_inner())).is_ok()
    }
    contained_once(&mut log)
}

#[cfg(feature = "tracing")]
mod log {
    use std::time::Duration;

    use tracing::{Level, debug, enabled, error, info, trace, warn};

    use crate::coordinated_shutdown::ShutdownReason;
    use crate::dead_letter::{DeadLetter, MOST_LINES, WINDOW};
    use crate::failure::Failure;
    use crate::path::ActorPath;
    use crate::supervision::{Directive, Log, LogLevel, Note, Outcome, Strategy};

    const TARGET: &str = "supervise";

    pub(super) fn is_on() -> bool {
        enabled!(target: TARGET, Level::ERROR)
    }

    pub(super) fn is_on_at(level: LogLevel) -> bool {
        match level {
            LogLevel::Error => enabled!(target: TARGET, Level::ERROR),
            LogLevel::Warn => enabled!(target: TARGET, Level::WARN),
            LogLevel::Info => enabled!(target: TARGET, Level::INFO),
            LogLevel::Debug => enabled!(target: TARGET, Level::DEBUG),
            LogLevel::Trace => enabled!(target: TARGET, Level::TRACE),
        }
    }

    pub(super) fn note(actor: &ActorPath, note: &Note<Failure>, child: Option<&ActorPath>, strategy: &Strategy) {
        let child = child.map(tracing::field::display);
        match note {
            Note::Decided { cause, directive, outcome, .. } => {
                // Who failed first, where that was further below.
                let origin = cause.origin().map(tracing::field::display);
                // How long it has been going on, where a restart failed.
                let failed_restarts = Some(cause.failed_restarts()).filter(|failed| *failed > 0);
                macro_rules! say {
                    ($level:ident) => {
                        $level!(
                            target: TARGET, supervisor = %actor, child, origin, failed_restarts,
                            failure = cause.type_name(), ?directive, ?outcome, "{}", Chain(cause)
                        )
                    };
                }
                match level_of(directive, *outcome, strategy) {
                    None => {}
                    Some(LogLevel::Error) => say!(error),
                    Some(LogLevel::Warn) => say!(warn),
                    Some(LogLevel::Info) => say!(info),
                    Some(LogLevel::Debug) => say!(debug),
                    Some(LogLevel::Trace) => say!(trace),
                }
            }
            Note::DeciderFailed { cause, about, .. } => {
                error!(
                    target: TARGET, supervisor = %actor, child, failure = about.type_name(),
                    "the decider failed: {}; it was to decide about: {}", Chain(cause), Chain(about)
                );
            }
            Note::HookFailed(hook, cause) => {
                error!(target: TARGET, %actor, ?hook, "a hook failed, going on: {}", Chain(cause));
            }
            Note::TurnedIntoCreate => {
                error!(target: TARGET, %actor, "there is no instance to restart or resume: creating one");
            }
            Note::TurnedIntoRestart => {
                error!(target: TARGET, %actor, "the last restart failed, there is nothing to resume: restarting");
            }
            Note::Aborted => {
                warn!(target: TARGET, %actor, "a handler or hook outlived the stop timeout and was dropped");
            }
            Note::ReportDropped(_, cause) => {
                debug!(target: TARGET, supervisor = %actor, child, "a report was dropped: {cause}");
            }
            Note::ReportDeferred(_) => {
                debug!(target: TARGET, supervisor = %actor, child, "a report has to wait");
            }
            Note::Started => debug!(target: TARGET, %actor, "started"),
            Note::Restarted(_) => debug!(target: TARGET, %actor, "restarted"),
            Note::Resumed => debug!(target: TARGET, %actor, "resumed"),
            Note::Stopped(how) => debug!(target: TARGET, %actor, ?how, "stopped"),
        }
    }

    /// Something happened that could not be said.
    pub(super) fn unsaid(actor: &ActorPath, child: Option<&ActorPath>) {
        let child = child.map(tracing::field::display);
        error!(
            target: TARGET, %actor, child,
            "a panic while an event of this actor was logged, in the `Display` of its error or in a subscriber"
        );
    }

    pub(super) fn dead_letter(letter: &DeadLetter) {
        let DeadLetter { recipient, message: letter, reason, .. } = letter;
        info!(target: TARGET, %recipient, letter, ?reason, "a message reached nobody");
    }

    pub(super) fn quiet_dead_letter(letter: &DeadLetter) {
        let DeadLetter { recipient, message: letter, reason, .. } = letter;
        debug!(target: TARGET, %recipient, letter, ?reason, "a message reached nobody");
    }

    pub(super) fn dead_letters_pause() {
        info!(
            target: TARGET,
            "{MOST_LINES} messages reached nobody within {WINDOW:?}: for the rest of this time, the others are counted, and \
             logged at debug level"
        );
    }

    pub(super) fn dead_letters_missed(missed: u64) {
        info!(target: TARGET, missed, "{missed} more messages reached nobody and were logged at debug level only");
    }

    pub(super) fn quarantined(letter: &DeadLetter) {
        let DeadLetter { recipient, message: letter, reason, failures, deliveries } = letter;
        match failures.last() {
            None => {
                warn!(target: TARGET, %recipient, letter, ?reason, deliveries, "a message was delivered and never handled");
            }
            Some(last) => warn!(
                target: TARGET, %recipient, letter, ?reason, deliveries,
                "a message failed at every delivery: {}", Chain(last)
            ),
        }
    }

    pub(super) fn drop_panicked(type_name: &str) {
        error!(target: TARGET, r#type = type_name, "a value panicked while it was dropped");
    }

    pub(super) fn cell_broke(actor: &ActorPath, failure: &Failure) {
        error!(target: TARGET, %actor, "a bug in supervise ended this actor, please report it: {}", Chain(failure));
    }

    pub(super) fn root_failed(failure: &Failure) {
        error!(target: TARGET, "the root guardian failed, the system ends: {}", Chain(failure));
    }

    pub(super) fn termination_callback_failed(failure: &Failure) {
        error!(target: TARGET, "a callback of the system's end failed: {}", Chain(failure));
    }

    #[cfg(feature = "signal")]
    pub(super) fn second_signal(signal: &str) {
        error!(target: TARGET, "{signal} again, before the shutdown was done: the process ends at once, without hooks");
    }

    pub(super) fn shutdown_begins(reason: &ShutdownReason) {
        info!(target: TARGET, "coordinated shutdown: {reason}");
    }

    pub(super) fn shutdown_task_failed(phase: &str, task: &str, failure: &Failure) {
        warn!(target: TARGET, phase, task, "a shutdown task failed: {}", Chain(failure));
    }

    pub(super) fn shutdown_phase_skipped(phase: &str, tasks: &[&str]) {
        info!(target: TARGET, phase, ?tasks, "a shutdown phase is skipped");
    }

    pub(super) fn shutdown_phase_timed_out(phase: &str, timeout: Duration, tasks: &[String]) {
        warn!(target: TARGET, phase, ?timeout, ?tasks, "a shutdown phase took too long");
    }

    /// How loudly a decision is said, or that it is not.
    fn level_of(directive: &Directive, outcome: Outcome, strategy: &Strategy) -> Option<LogLevel> {
        match strategy.log {
            Log::Off => None,
            Log::At(level) => Some(level),
            // Said one level up, where it is decided.
            Log::Default if outcome == Outcome::Escalated => None,
            Log::Default => Some(match directive {
                Directive::Resume => LogLevel::Warn,
                _ => LogLevel::Error,
            }),
        }
    }

    /// How many causes of a failure are written. An error's `source()` may lead back to itself.
    const MOST_CAUSES: usize = 32;

    /// A failure with what caused it.
    struct Chain<'a>(&'a Failure);

    impl std::fmt::Display for Chain<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}", self.0)?;
            let mut source = std::error::Error::source(self.0);
            for _ in 0..MOST_CAUSES {
                let Some(error) = source else { return Ok(()) };
                write!(f, ": {error}")?;
                source = error.source();
            }
            if source.is_some() {
                write!(f, ": and further causes, not written after {MOST_CAUSES}")
            } else {
                Ok(())
            }
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod log {
    use std::time::Duration;

    use crate::coordinated_shutdown::ShutdownReason;
    use crate::dead_letter::DeadLetter;
    use crate::failure::Failure;
    use crate::path::ActorPath;
    use crate::supervision::{LogLevel, Note, Strategy};

    pub(super) fn is_on() -> bool {
        false
    }

    pub(super) fn is_on_at(_: LogLevel) -> bool {
        false
    }

    pub(super) fn note(_: &ActorPath, _: &Note<Failure>, _: Option<&ActorPath>, _: &Strategy) {}

    pub(super) fn unsaid(_: &ActorPath, _: Option<&ActorPath>) {}

    pub(super) fn dead_letter(_: &DeadLetter) {}

    pub(super) fn quiet_dead_letter(_: &DeadLetter) {}

    pub(super) fn dead_letters_pause() {}

    pub(super) fn dead_letters_missed(_: u64) {}

    pub(super) fn quarantined(_: &DeadLetter) {}

    pub(super) fn drop_panicked(_: &str) {}

    pub(super) fn cell_broke(_: &ActorPath, _: &Failure) {}

    pub(super) fn root_failed(_: &Failure) {}

    pub(super) fn termination_callback_failed(_: &Failure) {}

    #[cfg(feature = "signal")]
    pub(super) fn second_signal(_: &str) {}

    pub(super) fn shutdown_begins(_: &ShutdownReason) {}

    pub(super) fn shutdown_task_failed(_: &str, _: &str, _: &Failure) {}

    pub(super) fn shutdown_phase_skipped(_: &str, _: &[&str]) {}

    pub(super) fn shutdown_phase_timed_out(_: &str, _: Duration, _: &[String]) {}
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;
    use std::sync::Arc;

    use super::*;

    struct Payload {
        _token: Arc<()>,
        drop_panics: bool,
    }

    impl Drop for Payload {
        fn drop(&mut self) {
            assert!(!self.drop_panics, "as told");
        }
    }

    /// Invariant 1.
    #[test]
    fn what_a_subscriber_panics_with_is_dropped() {
        for drop_panics in [false, true] {
            let token = Arc::new(());
            assert!(!told(|| panic_any(Payload { _token: Arc::clone(&token), drop_panics })));
            assert_eq!(Arc::strong_count(&token), 1);
        }
    }
}
