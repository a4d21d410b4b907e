//! The lines of the log: `tracing` events under the target `supervise`.

use std::fmt::Display;
use std::time::Duration;

use tracing::{Level, debug, enabled, error, info, trace, warn};

use super::dead_letter::{DeadLetter, MOST_LINES, WINDOW};
use crate::base::{ActorPath, TARGET};
use crate::failure::Failure;
use crate::supervision::{Directive, Log, LogLevel, Note, Outcome, Strategy};

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
            // The actor that failed first, if it was further down the tree.
            let origin = cause.origin().map(tracing::field::display);
            // How many restarts in a row have failed.
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
                "the decider failed: {}; the failure it had to decide: {}", Chain(cause), Chain(about)
            );
        }
        Note::HookFailed(hook, cause) => {
            error!(target: TARGET, %actor, ?hook, "a hook failed, and its failure was ignored: {}", Chain(cause));
        }
        Note::TurnedIntoCreate => {
            error!(target: TARGET, %actor, "the actor has no instance to restart or resume: creating one");
        }
        Note::TurnedIntoRestart => {
            error!(target: TARGET, %actor, "the last restart failed and left no instance to resume: restarting again");
        }
        Note::Aborted => {
            warn!(target: TARGET, %actor, "a handler or hook outlived the stop timeout and was dropped");
        }
        Note::ReportDropped(_, cause) => {
            debug!(target: TARGET, supervisor = %actor, child, "a failure report was dropped: {cause}");
        }
        Note::ReportDeferred(_) => {
            debug!(target: TARGET, supervisor = %actor, child, "the supervisor decides this failure later");
        }
        Note::Started => debug!(target: TARGET, %actor, "started"),
        Note::Restarted(_) => debug!(target: TARGET, %actor, "restarted"),
        Note::Resumed => debug!(target: TARGET, %actor, "resumed"),
        Note::Stopped(how) => debug!(target: TARGET, %actor, ?how, "stopped"),
    }
}

/// Logs that the log line of an event panicked.
pub(super) fn unsaid(actor: &ActorPath, child: Option<&ActorPath>) {
    let child = child.map(tracing::field::display);
    error!(
        target: TARGET, %actor, child,
        "the `Display` of an error or a subscriber panicked while an event of this actor was logged"
    );
}

pub(super) fn dead_letter(letter: &DeadLetter) {
    let DeadLetter { recipient, message: letter, reason, .. } = letter;
    info!(target: TARGET, %recipient, letter, ?reason, "a message became a dead letter");
}

pub(super) fn quiet_dead_letter(letter: &DeadLetter) {
    let DeadLetter { recipient, message: letter, reason, .. } = letter;
    debug!(target: TARGET, %recipient, letter, ?reason, "a message became a dead letter");
}

pub(super) fn dead_letters_pause() {
    info!(
        target: TARGET,
        "{MOST_LINES} dead letters within {WINDOW:?}: for the rest of this time, further dead letters are counted and \
         logged at debug level only"
    );
}

pub(super) fn dead_letters_missed(missed: u64) {
    info!(target: TARGET, missed, "{missed} more dead letters were logged at debug level only");
}

pub(super) fn quarantined(letter: &DeadLetter) {
    let DeadLetter { recipient, message: letter, reason, failures, deliveries } = letter;
    match failures.last() {
        None => {
            warn!(target: TARGET, %recipient, letter, ?reason, deliveries, "a message was delivered but never handled");
        }
        Some(last) => warn!(
            target: TARGET, %recipient, letter, ?reason, deliveries,
            "a message failed at every delivery: {}", Chain(last)
        ),
    }
}

pub(super) fn cell_broke(actor: &ActorPath, failure: &Failure) {
    error!(target: TARGET, %actor, "a bug in supervise ended this actor, please report it: {}", Chain(failure));
}

pub(super) fn root_failed(failure: &Failure) {
    error!(target: TARGET, "the root guardian failed and the system ends: {}", Chain(failure));
}

pub(super) fn termination_callback_failed(failure: &Failure) {
    error!(target: TARGET, "a termination callback failed: {}", Chain(failure));
}

pub(super) fn shutdown_begins(reason: &dyn Display) {
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

/// The level at which a decision is logged, or `None`.
fn level_of(directive: &Directive, outcome: Outcome, strategy: &Strategy) -> Option<LogLevel> {
    match strategy.log {
        Log::Off => None,
        Log::At(level) => Some(level),
        // The supervisor one level up logs it, when it decides.
        Log::Default if outcome == Outcome::Escalated => None,
        Log::Default => Some(match directive {
            Directive::Resume => LogLevel::Warn,
            _ => LogLevel::Error,
        }),
    }
}

/// How many causes of a failure are written. The limit is needed because an error's `source()` may lead back to itself.
const MOST_CAUSES: usize = 32;

/// A failure and its causes.
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
            write!(f, ": and further causes (only the first {MOST_CAUSES} are written)")
        } else {
            Ok(())
        }
    }
}
