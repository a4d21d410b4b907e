//! The plan of a coordinated shutdown: its phases, their tasks, and the progress of a run. Also the hooks and callbacks
//! for the end of a system. Nothing here runs an actor; `shutdown` carries the plan out.

mod phases;
mod progress;
mod settings;
mod state;
mod termination;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::failure::Failure;

pub use self::phases::{InvalidPhases, Phase};
pub(crate) use self::phases::{OnFailure, Planned};
pub use self::settings::{InvalidShutdown, ShutdownSettings};
pub(crate) use self::state::{ShutdownState, Task};
pub(crate) use self::termination::Termination;
pub use self::termination::{SystemTerminated, TerminationHook};

/// The name of a phase or a task.
pub(crate) type Name = Cow<'static, str>;

/// Why a system shuts down.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShutdownReason {
    /// [`ActorSystem::terminate`](crate::ActorSystem::terminate) was called.
    Terminate,
    /// The process got this signal.
    Signal(&'static str),
    /// Any other reason.
    Other(Cow<'static, str>),
}

impl From<&'static str> for ShutdownReason {
    fn from(reason: &'static str) -> Self {
        Self::Other(Cow::Borrowed(reason))
    }
}

impl From<String> for ShutdownReason {
    fn from(reason: String) -> Self {
        Self::Other(Cow::Owned(reason))
    }
}

impl fmt::Display for ShutdownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminate => f.write_str("the actor system terminates"),
            Self::Signal(signal) => write!(f, "the process got {signal}"),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// There is no shutdown phase of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPhase {
    /// The name.
    pub phase: String,
    /// The names of all phases.
    pub known: Vec<String>,
}

impl fmt::Display for UnknownPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown shutdown phase `{}`; the phases are: {}", self.phase, self.known.join(", "))
    }
}

impl Error for UnknownPhase {}

/// Why a task could not be added.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddTaskError {
    /// There is no such phase.
    UnknownPhase(UnknownPhase),
    /// The phase has begun, is over, or never runs because the system ended without it.
    TooLate {
        /// The phase.
        phase: String,
    },
}

impl fmt::Display for AddTaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPhase(error) => write!(f, "{error}"),
            Self::TooLate { phase } => write!(f, "the shutdown phase `{phase}` has begun and takes no more tasks"),
        }
    }
}

impl Error for AddTaskError {}

impl From<UnknownPhase> for AddTaskError {
    fn from(error: UnknownPhase) -> Self {
        Self::UnknownPhase(error)
    }
}

/// Why a coordinated shutdown did not complete.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ShutdownError {
    /// There is no phase of the name at which the run should begin.
    UnknownPhase(UnknownPhase),
    /// A task failed in a phase that aborts on failure.
    TaskFailed {
        /// The phase.
        phase: String,
        /// The task.
        task: String,
        /// Why it failed.
        failure: Failure,
    },
    /// The tasks of a phase that aborts on failure took too long.
    TimedOut {
        /// The phase.
        phase: String,
        /// The phase's timeout.
        timeout: Duration,
        /// The tasks that did not finish.
        tasks: Vec<String>,
    },
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPhase(error) => write!(f, "{error}"),
            Self::TaskFailed { phase, task, failure } => {
                write!(f, "the coordinated shutdown was aborted in `{phase}`: the task `{task}` failed: {failure}")
            }
            Self::TimedOut { phase, timeout, tasks } => write!(
                f,
                "the coordinated shutdown was aborted in `{phase}`: tasks that did not finish within {timeout:?}: {}",
                tasks.join(", ")
            ),
        }
    }
}

impl Error for ShutdownError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TaskFailed { failure, .. } => Some(failure),
            Self::UnknownPhase(_) | Self::TimedOut { .. } => None,
        }
    }
}

impl From<UnknownPhase> for ShutdownError {
    fn from(error: UnknownPhase) -> Self {
        Self::UnknownPhase(error)
    }
}
