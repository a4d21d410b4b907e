//! The plan of a coordinated shutdown: its phases, their tasks, and the progress of a run. Also the hooks and callbacks
//! for the end of a system. Nothing here runs an actor; `shutdown` carries the plan out.

mod phases;
mod progress;
mod settings;
mod state;
mod termination;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::failure::{Failure, debug_in_one_line};

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
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown shutdown phase `{phase}`; the phases are: {}", known.join(", "))]
pub struct UnknownPhase {
    /// The name.
    pub phase: String,
    /// The names of all phases.
    pub known: Vec<String>,
}

/// Why a task could not be added.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddTaskError {
    /// There is no such phase.
    #[error(transparent)]
    UnknownPhase(#[from] UnknownPhase),
    /// The phase has begun, is over, or never runs because the system ended without it.
    #[error("the shutdown phase `{phase}` has begun and takes no more tasks")]
    TooLate {
        /// The phase.
        phase: String,
    },
}

debug_in_one_line!(UnknownPhase, AddTaskError, ShutdownError);

/// Why a coordinated shutdown did not complete.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ShutdownError {
    /// There is no phase of the name at which the run should begin.
    #[error(transparent)]
    UnknownPhase(#[from] UnknownPhase),
    /// A task failed in a phase that aborts on failure.
    #[error("the coordinated shutdown was aborted in `{phase}`: the task `{task}` failed: {failure}")]
    TaskFailed {
        /// The phase.
        phase: String,
        /// The task.
        task: String,
        /// Why it failed.
        #[source]
        failure: Failure,
    },
    /// The tasks of a phase that aborts on failure took too long.
    #[error("the coordinated shutdown was aborted in `{phase}`: tasks that did not finish within {timeout:?}: {}", tasks.join(", "))]
    TimedOut {
        /// The phase.
        phase: String,
        /// The phase's timeout.
        timeout: Duration,
        /// The tasks that did not finish.
        tasks: Vec<String>,
    },
}
