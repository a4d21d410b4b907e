//! Replaces the log if the feature `tracing` is off.

use std::fmt::Display;
use std::time::Duration;

#[cfg(feature = "remote")]
use super::Event;
use super::dead_letter::{DeadLetter, GivenUp};
use super::intervention::Intervention;
#[cfg(feature = "remote")]
use super::thinned::Line;
use super::thinned::{FailureGroup, MissedLetters};
use super::{About, Delayed};
use crate::base::{ActorPath, Uid};
use crate::failure::Failure;
use crate::supervision::{LogLevel, Note, Outcome};

pub(super) fn may_be_on() -> bool {
    false
}

pub(super) fn is_on() -> bool {
    false
}

pub(super) fn is_on_at(_: LogLevel) -> bool {
    false
}

pub(super) fn is_on_for(_: &Note<Failure>) -> bool {
    false
}

pub(super) fn note(_: &About<'_>, _: &Note<Failure>, _: &str, _: bool) {}

pub(super) fn intervened(_: &ActorPath, _: Uid, _: Intervention, _: &str) {}

#[cfg(feature = "remote")]
pub(super) fn node(_: &Event, _: Line) {}

pub(super) fn level_of_line(_: Outcome, _: &About<'_>) -> Option<LogLevel> {
    None
}

pub(super) fn failures_pause(_: &ActorPath) {}

pub(super) fn failures_missed(_: &FailureGroup, _: u64) {}

pub(super) fn unsaid(_: &ActorPath, _: Option<&ActorPath>) {}

pub(super) fn dead_letter(_: &DeadLetter) {}

pub(super) fn quiet_dead_letter(_: &DeadLetter) {}

pub(super) fn dead_letters_pause() {}

pub(super) fn dead_letters_missed(_: &MissedLetters) {}

pub(super) fn quarantined(_: &DeadLetter, _: GivenUp) {}

pub(super) fn cell_broke(_: &ActorPath, _: &Failure) {}

pub(super) fn root_failed(_: &Failure) {}

#[cfg(feature = "durable")]
pub(super) fn store_failed(_: &str) {}

#[cfg(feature = "durable")]
pub(super) fn queue_unowned(_: &str, _: u64) {}

pub(super) fn termination_callback_failed(_: &Failure) {}

#[cfg(feature = "signal")]
pub(super) fn second_signal(_: &str) {}

pub(super) fn pool_is_empty(_: &ActorPath, _: Option<&Failure>) {}

pub(super) fn child_is_given_up(_: &ActorPath, _: &Failure) {}

pub(super) fn replacement_delayed(_: &ActorPath, _: Delayed, _: bool) {}

pub(super) fn shutdown_begins(_: &dyn Display) {}

pub(super) fn shutdown_task_failed(_: &str, _: &str, _: &Failure) {}

pub(super) fn shutdown_phase_skipped(_: &str, _: &[&str]) {}

pub(super) fn still_stopping(_: Duration, _: &dyn Display) {}

pub(super) fn shutdown_phase_timed_out(_: &str, _: Duration, _: &[String]) {}
