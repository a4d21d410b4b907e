//! How things end from outside: an actor that somebody waits for, and a whole system, in phases.

mod coordinated;
mod graceful_stop;
mod run;
#[cfg(feature = "signal")]
mod signal;
mod termination;

pub use self::coordinated::{CoordinatedShutdown, ShutdownTask, TaskOutcome};
pub use self::graceful_stop::NotStopped;
