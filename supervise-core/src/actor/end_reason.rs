//! Why an actor ended, kept in its cell and read through its refs.
//!
//! The actor that causes the end records the reason: a supervisor when it stops a child because of its failure or escalates that
//! failure, and an actor when it stops itself. If no reason is recorded, the actor was stopped by request.
//!
//! Rule 8.8.

use std::fmt;

use crate::actor::request::AskError;
use crate::failure::{Failure, Stage};

/// Why an actor ended. [`HowEnded`](crate::HowEnded) says how.
///
/// Rule [8.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-8.8).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EndReason {
    /// It stopped itself: by `ctx.stop_self()` or `ctx.stop_when_drained()`, because it was not needed
    /// ([passivated](crate::Context::passivate)), because its task returned, or because a significant child ended.
    StoppedItself,
    /// It was stopped through a ref, or by its parent: explicitly, because the parent itself stopped or restarted, or because
    /// a sibling failed under a group strategy.
    Stopped,
    /// It failed. Its supervisor stopped it because of that, or escalated the failure and no supervisor above resumed or
    /// restarted the actor.
    Failed(Failure),
    /// It failed, and the limit of its supervisor refused another restart.
    LimitReached(Failure),
    /// It could not start for the first time, and its supervisor did not try again.
    CouldNotStart(Failure),
    /// Its tokio runtime was shut down before it had ended. No hook ran.
    RuntimeGone,
    /// Its node was given up. Whether the actor has ended is unknown (feature `remote`).
    Unreachable,
    /// The reason is unknown: the actor is a guardian that ended long ago, or it ended because of a bug in
    /// this crate.
    Unknown,
}

impl EndReason {
    /// The failure because of which the actor ended, if there is one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) | Self::LimitReached(failure) | Self::CouldNotStart(failure) => Some(failure),
            Self::StoppedItself | Self::Stopped | Self::RuntimeGone | Self::Unreachable | Self::Unknown => None,
        }
    }

    /// The reason in one word, for tables and metrics: `stopped_itself`, `stopped`, `failed`, `limit`, `not_started`, `runtime_gone`,
    /// `unreachable`, `unknown`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::StoppedItself => "stopped_itself",
            Self::Stopped => "stopped",
            Self::Failed(_) => "failed",
            Self::LimitReached(_) => "limit",
            Self::CouldNotStart(_) => "not_started",
            Self::RuntimeGone => "runtime_gone",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
        }
    }

    /// The reason of an actor whose failure was not answered by a resume or a restart.
    pub(crate) fn unanswered(failure: Failure, at_limit: bool) -> Self {
        match failure.stage() {
            _ if at_limit => Self::LimitReached(failure),
            Stage::Initialization => Self::CouldNotStart(failure),
            Stage::Running | Stage::PostRestart => Self::Failed(failure),
        }
    }

    /// The error that an asker of the actor gets.
    pub(crate) fn into_ask_error(self) -> AskError {
        match self {
            Self::Failed(failure) | Self::LimitReached(failure) | Self::CouldNotStart(failure) => {
                AskError::StoppedByFailure(failure)
            }
            Self::StoppedItself | Self::Stopped | Self::RuntimeGone | Self::Unknown => AskError::Stopped,
            Self::Unreachable => AskError::Undeliverable,
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StoppedItself => f.write_str("it stopped itself"),
            Self::Stopped => f.write_str("it was stopped"),
            Self::Failed(failure) => write!(f, "it failed: {failure}"),
            Self::LimitReached(failure) => write!(f, "it failed, and the restart limit was reached: {failure}"),
            Self::CouldNotStart(failure) => write!(f, "it could not start: {failure}"),
            Self::RuntimeGone => f.write_str("its runtime was shut down"),
            Self::Unreachable => f.write_str("its node was given up"),
            Self::Unknown => f.write_str("the reason is not known"),
        }
    }
}
