//! The lines of the log: `tracing` events under the target `supervise`.

mod dead_letters;
#[cfg(feature = "remote")]
mod nodes;

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::{Level, debug, enabled, error, info, trace, warn};

pub(super) use self::dead_letters::{
    dead_letter, dead_letters_missed, dead_letters_pause, quarantined, quiet_dead_letter,
};
#[cfg(feature = "remote")]
pub(super) use self::nodes::node;
use super::intervention::Intervention;
use super::thinned::{FailureGroup, MOST_LINES, OF_FAILURES};
use super::{About, Delayed};
use crate::base::{ActorPath, TARGET, Uid};
use crate::failure::{During, Failure, Stage, one_line, text_of};
use crate::supervision::{Count, Directive, Limit, Log, LogLevel, Note, OnLimit, Outcome, Standing, Window};

/// Whether any subscriber may want anything. This runs no code of a subscriber.
pub(super) fn may_be_on() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

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

/// Whether a note has a line. That depends on the strategy too, which is read later.
pub(super) fn is_on_for(note: &Note<Failure>) -> bool {
    match note {
        Note::Decided { .. } | Note::DeciderFailed { .. } | Note::HookFailed(..) => is_on(),
        Note::Aborted => is_on_at(LogLevel::Warn),
        Note::Started { again: false } => is_on_at(LogLevel::Debug),
        Note::Started { .. } => is_on_at(LogLevel::Info),
        Note::Restarted(cause) if cause.failed_restarts() > 0 => is_on_at(LogLevel::Info),
        Note::Restarted(_)
        | Note::Resumed
        | Note::Stopped(_)
        | Note::ReportDeferred(_)
        | Note::ReportDropped(..)
        | Note::TurnedIntoCreate
        | Note::TurnedIntoRestart => is_on_at(LogLevel::Debug),
    }
}

/// `text` is the text of the failure if the note is a decision, or the name of the handler or hook that was
/// dropped at the stop timeout. `quietly`: too many notes like this one already have a line.
pub(super) fn note(about: &About<'_>, note: &Note<Failure>, text: &str, quietly: bool) {
    let actor = &about.actor;
    let child = about.child.as_ref().map(tracing::field::display);
    match note {
        Note::Decided { cause, outcome, .. } => {
            let line = Line { about, cause, text, outcome };
            let failed = about.child.as_ref().unwrap_or(actor);
            // The actor that failed first, if it was further down the tree.
            let origin = cause.origin().filter(|origin| *origin != failed).map(tracing::field::display);
            let during = cause.during().map(During::name);
            let delay = match outcome {
                Outcome::Restarting { delay, .. } => *delay,
                _ => None,
            };
            let delay = delay.map(|delay| tracing::field::display(Short(delay)));
            let used = about.standing.map(|standing| Used(standing, about).to_string());
            let used = used.as_deref();
            let anew = about.anew_in().map(|anew| tracing::field::display(Short(anew)));
            macro_rules! say {
                ($level:ident) => {
                    $level!(
                        target: TARGET, actor = %failed, uid = %about.uid, during, failure = cause.type_name(),
                        rule = about.rule, outcome = outcome.in_a_word(), delay, attempt = about.attempt, used, anew,
                        supervisor = %actor, origin, "{line}"
                    )
                };
            }
            match level_of(*outcome, about) {
                None => {}
                Some(_) if quietly => say!(debug),
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
            let during = (!text.is_empty()).then_some(text);
            let dropped = during.unwrap_or("a handler or hook");
            warn!(target: TARGET, %actor, during, "{dropped} outlived the stop timeout and was dropped at an await point");
        }
        Note::ReportDropped(_, cause) => {
            debug!(target: TARGET, supervisor = %actor, child, "a failure report was dropped: {}", Chain(cause));
        }
        Note::ReportDeferred(_) => {
            debug!(target: TARGET, supervisor = %actor, child, "the supervisor decides this failure later");
        }
        Note::Started { again: true } if about.attempt > 0 => {
            info!(target: TARGET, %actor, "{} started after {}", actor.name(), Failures(about.attempt));
        }
        Note::Started { .. } => debug!(target: TARGET, %actor, "started"),
        Note::Restarted(cause) => match cause.failed_restarts() {
            0 => debug!(target: TARGET, %actor, "restarted"),
            failed => {
                let failures = Failures(about.attempt.max(failed.saturating_add(1)));
                info!(target: TARGET, %actor, "{} restarted after {failures}", actor.name());
            }
        },
        Note::Resumed => debug!(target: TARGET, %actor, "resumed"),
        Note::Stopped(how) => debug!(target: TARGET, %actor, ?how, "stopped"),
    }
}

pub(super) fn intervened(actor: &ActorPath, uid: Uid, what: Intervention, by: &str) {
    warn!(target: TARGET, %actor, %uid, %what, by, "an operator ({by}) asked for: {what} of {}", actor.name());
}

/// Logs that the log line of an event panicked.
pub(super) fn unsaid(actor: &ActorPath, child: Option<&ActorPath>) {
    let child = child.map(tracing::field::display);
    error!(
        target: TARGET, %actor, child,
        "the `Display` of an error or a subscriber panicked while an event of this actor was logged"
    );
}

pub(super) fn cell_broke(actor: &ActorPath, failure: &Failure) {
    error!(target: TARGET, %actor, "a bug in supervise ended this actor, please report it: {}", Chain(failure));
}

pub(super) fn root_failed(failure: &Failure) {
    error!(target: TARGET, "the root guardian failed and the system ends: {}", Chain(failure));
}

#[cfg(feature = "durable")]
pub(super) fn store_failed(error: &str) {
    error!(target: TARGET, "the message store has failed and is tried again: {error}");
}

#[cfg(feature = "durable")]
pub(super) fn queue_unowned(queue: &str, messages: u64) {
    warn!(
        target: TARGET,
        queue,
        messages,
        "messages wait in a queue that no actor owns: spawn its actor, or give the queue to another one with `Store::rename`"
    );
}

pub(super) fn termination_callback_failed(failure: &Failure) {
    error!(target: TARGET, "a termination callback failed: {}", Chain(failure));
}

#[cfg(feature = "signal")]
pub(super) fn second_signal(signal: &str) {
    error!(target: TARGET, "{signal} again, before the shutdown was done: the process ends at once, without hooks");
}

/// The failure is that of the worker that ended last.
pub(super) fn pool_is_empty(pool: &ActorPath, failure: Option<&Failure>) {
    match failure {
        Some(failure) => error!(
            target: TARGET,
            actor = %pool,
            "the last worker of the pool {} was given up, so the pool stops: {}",
            pool.name(),
            text_of(failure)
        ),
        None => {
            debug!(target: TARGET, actor = %pool, "the last worker of the pool {} left, so the pool stops", pool.name());
        }
    }
}

pub(super) fn child_is_given_up(supervisor: &ActorPath, failure: &Failure) {
    error!(
        target: TARGET,
        actor = %supervisor,
        "the child of the backoff supervisor {} was given up, so the supervisor stops: {}",
        supervisor.name(),
        text_of(failure)
    );
}

pub(super) fn replacement_delayed(child: &ActorPath, delayed: Delayed, loudly: bool) {
    let Delayed { delay, attempt, .. } = delayed;
    let ends = if attempt > 1 { format!(", after {attempt} ends in a row") } else { String::new() };
    macro_rules! say {
        ($level:ident) => {
            $level!(
                target: TARGET, actor = %child, delay = %Short(delay), attempt,
                "{} is replaced in {}{ends}", child.name(), InWords(delay)
            )
        };
    }
    if loudly { say!(info) } else { say!(debug) }
}

pub(super) fn shutdown_begins(reason: &dyn Display) {
    info!(target: TARGET, "coordinated shutdown: {}", one_line(reason).unwrap_or_default());
}

pub(super) fn shutdown_task_failed(phase: &str, task: &str, failure: &Failure) {
    warn!(target: TARGET, phase, task, "a shutdown task failed: {}", Chain(failure));
}

pub(super) fn shutdown_phase_skipped(phase: &str, tasks: &[&str]) {
    info!(target: TARGET, phase, ?tasks, "a shutdown phase is skipped");
}

pub(super) fn still_stopping(waited: Duration, actors: &dyn Display) {
    warn!(target: TARGET, waited = %Short(waited), "still waiting for the end of {actors}");
}

pub(super) fn shutdown_phase_timed_out(phase: &str, timeout: Duration, tasks: &[String]) {
    warn!(target: TARGET, phase, timeout = %Short(timeout), ?tasks, "a shutdown phase took too long");
}

/// The level of a decision's line, if it is above the debug level.
pub(super) fn level_of_line(outcome: Outcome, about: &About<'_>) -> Option<LogLevel> {
    level_of(outcome, about).filter(|level| !matches!(level, LogLevel::Debug | LogLevel::Trace))
}

pub(super) fn failures_pause(supervisor: &ActorPath) {
    info!(
        target: TARGET, %supervisor,
        "{MOST_LINES} failures of one kind below {} within {}: further ones in this time are counted and logged at debug level only",
        supervisor.name(), InWords(OF_FAILURES)
    );
}

pub(super) fn failures_missed(kind: &FailureGroup, missed: u64) {
    let FailureGroup { supervisor, failure, outcome, level } = kind;
    let (failures, were) = if missed == 1 { ("failure", "was") } else { ("failures", "were") };
    macro_rules! say {
        ($level:ident) => {
            $level!(
                target: TARGET, %supervisor, failure, outcome, missed,
                "{missed} more {failures} of one kind below {} {were} logged at debug level only", supervisor.name()
            )
        };
    }
    match level {
        LogLevel::Error => say!(error),
        LogLevel::Warn => say!(warn),
        _ => say!(info),
    }
}

/// The level at which a decision is logged, or `None` if it is not logged.
///
/// Rules 10.2 and 10.6.
fn level_of(outcome: Outcome, about: &About<'_>) -> Option<LogLevel> {
    match about.strategy.log {
        Log::Off => None,
        Log::At(level) => Some(level),
        // The supervisor one level up logs it, when it decides.
        Log::Default | Log::ByAttempt(_) if outcome == Outcome::Escalated => None,
        Log::ByAttempt(warnings) => Some(match outcome {
            Outcome::Resumed | Outcome::Restarting { .. } if about.attempt <= warnings => LogLevel::Warn,
            Outcome::AlreadyAnswered => LogLevel::Warn,
            _ => LogLevel::Error,
        }),
        Log::Default => Some(match about.directive {
            Some(Directive::Resume) => LogLevel::Warn,
            _ => LogLevel::Error,
        }),
    }
}

/// Which actor failed, how, and what follows.
struct Line<'a> {
    about: &'a About<'a>,
    cause: &'a Failure,
    /// The text of the failure and its causes.
    text: &'a str,
    outcome: &'a Outcome,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { about, cause, text, outcome } = self;
        let failed = about.child.as_ref().unwrap_or(&about.actor);
        f.write_str(failed.name())?;
        // The stage is that of the actor that failed first.
        if let Some(origin) = cause.origin().filter(|origin| *origin != failed) {
            write!(f, " failed because {}", origin.name())?;
        }
        f.write_str(match cause.stage() {
            Stage::Initialization => " could not start",
            Stage::PostRestart => " could not restart",
            Stage::Running => " failed",
        })?;
        if let Some(during) = cause.during() {
            write!(f, " in {during}")?;
        }
        write!(f, ": {text}; {}", Follows { about, outcome })
    }
}

/// What follows from a failure.
struct Follows<'a> {
    about: &'a About<'a>,
    outcome: &'a Outcome,
}

impl Display for Follows<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let About { actor, gave_up_after, standing, strategy, limit, .. } = self.about;
        let actors = |children: usize, verb: &str| match children {
            1 => format!("it {verb}s"),
            _ => format!("{children} actors {verb}"),
        };
        match *self.outcome {
            Outcome::Resumed => f.write_str("it goes on"),
            Outcome::Restarting { children, delay } => {
                f.write_str(&actors(children, "restart"))?;
                match delay {
                    Some(delay) => write!(f, " in {}", InWords(delay))?,
                    None => f.write_str(" at once")?,
                }
                match standing {
                    Some(standing) if standing.used >= standing.of => {
                        write!(f, ", with the last restart of the limit ({}", Budget(limit, strategy.count))?;
                        let one =
                            if children > 1 || strategy.count == Count::Supervisor { "one of them" } else { "it" };
                        let mut again = format!("if {one} fails again");
                        if let Some(anew) = self.about.anew_in() {
                            let what = match limit.window {
                                Window::Sliding => "the oldest of them stops counting",
                                Window::Tumbling => "the count starts anew",
                            };
                            write!(f, "; {what} in {}", InWords(anew))?;
                            again += " before that";
                        }
                        write!(f, "); {again}, ")?;
                        match strategy.on_limit {
                            OnLimit::Stop => f.write_str(&actors(children, "stop")),
                            OnLimit::Escalate => write!(f, "{} fails too{}", actor.name(), Others(self.about)),
                        }
                    }
                    _ => Ok(()),
                }
            }
            // The root has stopped a guardian.
            Outcome::Stopped { .. } if actor.name().is_empty() => {
                write!(f, "the system `{}` ends", actor.system())
            }
            Outcome::Stopped { children } => f.write_str(&actors(children, "stop")),
            Outcome::LimitReached { .. } | Outcome::LimitEscalated => {
                match gave_up_after {
                    Some(limit) => write!(f, "it has been failing for {} or longer: ", InWords(*limit))?,
                    None => write!(f, "its restart limit is reached ({}): ", Budget(limit, strategy.count))?,
                }
                match *self.outcome {
                    Outcome::LimitReached { children } => f.write_str(&actors(children, "stop")),
                    _ => write!(f, "{} fails too", actor.name()),
                }
            }
            Outcome::AlreadyAnswered => f.write_str("an earlier decision answers this failure too"),
            Outcome::Escalated => write!(f, "{} fails too", actor.name()),
        }
    }
}

/// The other children of the supervisor that will fail.
struct Others<'a>(&'a About<'a>);

impl Display for Others<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some((names, all)) = &self.0.others else { return Ok(()) };
        let more = all.saturating_sub(names.len());
        match (names.len(), more) {
            (0, _) => f.write_str(", which has no other child"),
            (_, 0) => write!(f, ", and with it {}", names.join(", ")),
            _ => write!(f, ", and with it {} and {more} more", names.join(", ")),
        }
    }
}

/// How many failures, in words.
struct Failures(u32);

impl Display for Failures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 failure"),
            failures => write!(f, "{failures} failures"),
        }
    }
}

/// How much of a limit is used: `4 of 5 in 60s`.
struct Used<'a>(Standing, &'a About<'a>);

impl Display for Used<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(standing, about) = self;
        write!(f, "{} of {}", standing.used, standing.of)?;
        if let Some(within) = about.limit.within {
            write!(f, " in {}", Short(within))?;
        }
        if about.strategy.count == Count::Supervisor { f.write_str(", all children") } else { Ok(()) }
    }
}

/// A duration as the attributes write it, to a tenth of a second: `250ms`, `15.2s`, `60s`.
struct Short(Duration);

impl Display for Short {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tenths = self.0.as_millis() / 100;
        match tenths {
            0..10 => write!(f, "{}ms", self.0.as_millis()),
            _ if tenths.is_multiple_of(10) => write!(f, "{}s", tenths / 10),
            _ => write!(f, "{}.{}s", tenths / 10, tenths % 10),
        }
    }
}

/// How many restarts are granted, in words.
struct Budget<'a>(&'a Limit, Count);

impl Display for Budget<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(limit, count) = self;
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

/// A failure and its causes.
struct Chain<'a>(&'a Failure);

impl Display for Chain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervision::Strategy;

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
    fn durations_are_written_as_the_attributes_write_them() {
        let written = [5, 999, 1_000, 15_249, 60_000, 3_600_000]
            .map(|millis| Short(Duration::from_millis(millis)).to_string());
        assert_eq!(written, ["5ms", "999ms", "1s", "15.2s", "60s", "3600s"]);
    }

    #[test]
    fn a_limit_is_named() {
        let named = |strategy: Strategy| Budget(&strategy.limit, strategy.count).to_string();
        let ten = Strategy::one_for_one().max_retries(10);
        assert_eq!(named(ten), "10 restarts");
        let within = ten.within(Duration::from_secs(60)).count(Count::Supervisor);
        assert_eq!(named(within), "10 restarts within 1 min of all children");
        assert_eq!(named(Strategy::one_for_one().max_retries(0)), "no restart");
    }
}
