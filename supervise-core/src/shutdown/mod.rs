//! Ending actors and systems from outside: waiting for the end of an actor, and shutting a system down in phases.

mod coordinated;
mod graceful_stop;
mod run;
#[cfg(feature = "signal")]
mod signal;
mod stop_all;
mod termination;

pub use self::coordinated::{CoordinatedShutdown, ShutdownTask, TaskOutcome};
pub use self::graceful_stop::NotStopped;
pub(crate) use self::graceful_stop::drained_within;
#[cfg(feature = "remote")]
pub(crate) use self::graceful_stop::stopped;
