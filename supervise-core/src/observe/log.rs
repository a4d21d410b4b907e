//! The lines of the log: `tracing` events under the target `supervise`.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use tracing::{Level, debug, enabled, error, info, trace, warn};

use super::dead_letter::{DeadLetter, MOST_LINES, WINDOW};
use crate::base::{ActorPath, TARGET};
use crate::failure::Failure;
use crate::supervision::{Count, Directive, Log, LogLevel, Note, Outcome, Strategy};

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

pub(super) fn note(
    actor: &ActorPath,
    note: &Note<Failure>,
    child: Option<&ActorPath>,
    strategy: &Strategy,
    attempt: u32,
) {
    let path = child;
    let child = child.map(tracing::field::display);
    match note {
        Note::Decided { cause, directive, outcome, .. } => {
            // The actor that failed first, if it was further down the tree.
            let origin = cause.origin().map(tracing::field::display);
            // How many restarts in a row have failed.
            let failed_restarts = Some(cause.failed_restarts()).filter(|failed| *failed > 0);
            let first = cause.origin().filter(|origin| Some(*origin) != path);
            let line = Line {
                child: path.unwrap_or(actor),
                first,
                cause,
                follows: Follows { actor, outcome, strategy, attempt },
            };
            macro_rules! say {
                ($level:ident) => {
                    $level!(
                        target: TARGET, supervisor = %actor, child, origin, failed_restarts,
                        failure = cause.type_name(), directive = %name_of(directive), "{line}"
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
            debug!(target: TARGET, %actor, "it has never started, so it is started rather than restarted");
        }
        Note::TurnedIntoRestart => {
            debug!(target: TARGET, %actor, "its last restart failed, so it restarts rather than resumes");
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
    info!(target: TARGET, missed, "{missed} dead letters were logged at debug level only");
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

#[cfg(feature = "signal")]
pub(super) fn second_signal(signal: &str) {
    error!(target: TARGET, "{signal} again, before the shutdown was done: the process ends at once, without hooks");
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

pub(super) fn still_stopping(waited: Duration, actors: &dyn Display) {
    warn!(target: TARGET, ?waited, "still waiting for the end of {actors}");
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

/// What the table said.
fn name_of(directive: &Directive) -> &'static str {
    match directive {
        Directive::Resume => "Resume",
        Directive::Restart | Directive::RestartAfter(_) | Directive::RestartOn(_) => "Restart",
        Directive::Stop => "Stop",
        Directive::Escalate => "Escalate",
    }
}

/// What happened to whom, and what follows.
struct Line<'a> {
    child: &'a ActorPath,
    /// Who failed first, where that was somebody else.
    first: Option<&'a ActorPath>,
    cause: &'a Failure,
    follows: Follows<'a>,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { child, first, cause, follows } = self;
        write!(f, "{child} failed")?;
        if let Some(first) = first {
            write!(f, " because {first} did")?;
        }
        write!(f, ": {}; {follows}", Chain(cause))
    }
}

/// What follows from a failure.
struct Follows<'a> {
    actor: &'a ActorPath,
    outcome: &'a Outcome,
    strategy: &'a Strategy,
    attempt: u32,
}

impl Display for Follows<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { actor, outcome, strategy, attempt } = self;
        let actors = |children: usize, verb: &str| match children {
            1 => format!("it {verb}s"),
            _ => format!("{children} actors {verb}"),
        };
        match **outcome {
            Outcome::Resumed => f.write_str("it goes on"),
            Outcome::Restarting { children, delay } => {
                f.write_str(&actors(children, "restart"))?;
                match delay {
                    Some(delay) => write!(f, " in {}", InWords(delay))?,
                    None => f.write_str(" at once")?,
                }
                match (attempt, strategy.limit.max_retries) {
                    (0, _) => Ok(()),
                    (attempt, Some(most)) => write!(f, ", attempt {attempt} of {most}"),
                    (attempt, None) => write!(f, ", attempt {attempt}"),
                }
            }
            // The root has stopped a guardian.
            Outcome::Stopped { .. } if actor.name().is_empty() => {
                write!(f, "the system `{}` ends", actor.system())
            }
            Outcome::Stopped { children } => f.write_str(&actors(children, "stop")),
            Outcome::LimitReached { children } => {
                write!(f, "its restart limit is reached ({}): {}", Budget(strategy), actors(children, "stop"))
            }
            Outcome::LimitEscalated => {
                write!(f, "its restart limit is reached ({}): {actor} fails too", Budget(strategy))
            }
            Outcome::AlreadyAnswered => f.write_str("what was decided before answers this too"),
            Outcome::Escalated => write!(f, "{actor} fails too"),
        }
    }
}

/// How many restarts are granted, in words.
struct Budget<'a>(&'a Strategy);

impl Display for Budget<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Strategy { limit, count, .. } = self.0;
        match limit.max_retries {
            Some(0) => f.write_str("no restart")?,
            Some(1) | None => f.write_str("1 restart")?,
            Some(most) => write!(f, "{most} restarts")?,
        }
        if let Some(within) = limit.within {
            write!(f, " within {}", InWords(within))?;
        }
        if *count == Count::Supervisor { f.write_str(" of all children") } else { Ok(()) }
    }
}

/// A duration as people write it: `250 ms`, `2.5 s`, `3 min 20 s`, `2 h`.
struct InWords(Duration);

impl Display for InWords {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let tenth = self.0.subsec_millis() / 100;
        match (hours, minutes, rest) {
            (0, 0, 0) => write!(f, "{} ms", self.0.as_millis()),
            (0, 0, _) if tenth > 0 => write!(f, "{rest}.{tenth} s"),
            (0, 0, _) => write!(f, "{rest} s"),
            (0, _, 0) => write!(f, "{minutes} min"),
            (0, _, _) => write!(f, "{minutes} min {rest} s"),
            (_, 0, _) => write!(f, "{hours} h"),
            (_, _, _) => write!(f, "{hours} h {minutes} min"),
        }
    }
}

/// How many causes of a failure are written. The limit is needed because an error's `source()` may lead back to itself.
const MOST_CAUSES: usize = 32;

/// A failure and its causes.
struct Chain<'a>(&'a Failure);

impl Display for Chain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_people_write_them() {
        let written = [5, 250, 1_000, 2_540, 59_999, 60_000, 200_000, 3_600_000, 3_900_500]
            .map(|millis| InWords(Duration::from_millis(millis)).to_string());
        assert_eq!(
            written,
            ["5 ms", "250 ms", "1 s", "2.5 s", "59.9 s", "1 min", "3 min 20 s", "1 h", "1 h 5 min"]
        );
    }

    #[test]
    fn a_limit_is_named() {
        let ten = Strategy::one_for_one().max_retries(10);
        assert_eq!(Budget(&ten).to_string(), "10 restarts");
        let within = ten.within(Duration::from_secs(60)).count(Count::Supervisor);
        assert_eq!(Budget(&within).to_string(), "10 restarts within 1 min of all children");
        assert_eq!(Budget(&Strategy::one_for_one().max_retries(0)).to_string(), "no restart");
    }
}
