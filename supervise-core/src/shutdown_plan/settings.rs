//! The settings of a coordinated shutdown.

use std::time::Duration;

use super::phases::{self, InvalidPhases, Phase};

/// The settings of a coordinated shutdown, for
/// [`ActorSystemBuilder::coordinated_shutdown`](crate::ActorSystemBuilder::coordinated_shutdown).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownSettings {
    pub(super) phases: Vec<Phase>,
    pub(super) timeout: Duration,
    pub(super) terminates_system: bool,
    pub(super) run_by_terminate: bool,
}

impl ShutdownSettings {
    /// The default settings: the predefined phases with a timeout of 5 s each, but 10 s for
    /// [`CLUSTER_SHARDING_SHUTDOWN_REGION`](Phase::CLUSTER_SHARDING_SHUTDOWN_REGION), [`CLUSTER_EXITING`](Phase::CLUSTER_EXITING) and
    /// [`ACTOR_SYSTEM_TERMINATE`](Phase::ACTOR_SYSTEM_TERMINATE). The last one ends the system, and [`ActorSystem::terminate`](crate::ActorSystem::terminate) runs them all.
    pub fn new() -> Self {
        Self {
            phases: Vec::new(),
            timeout: phases::DEFAULT_TIMEOUT,
            terminates_system: true,
            run_by_terminate: true,
        }
    }

    /// Adds a phase, or changes the phase of this name: the settings of `phase` are added to it.
    #[must_use]
    pub fn phase(mut self, phase: Phase) -> Self {
        self.phases.push(phase);
        self
    }

    /// Sets how long the tasks of a phase may take if it has no timeout of its own.
    #[must_use]
    pub fn phase_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Makes the last phase leave the system running. If you set this, also set
    /// [`terminate_directly`](Self::terminate_directly), because [`terminate`](crate::ActorSystem::terminate) must
    /// not run phases that do not end the system.
    #[must_use]
    pub fn leave_system_running(mut self) -> Self {
        self.terminates_system = false;
        self
    }

    /// Makes [`ActorSystem::terminate`](crate::ActorSystem::terminate) end the system without running the phases.
    #[must_use]
    pub fn terminate_directly(mut self) -> Self {
        self.run_by_terminate = false;
        self
    }
}

impl Default for ShutdownSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// Why the settings of a coordinated shutdown are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidShutdown {
    /// The phases cannot be ordered.
    #[error(transparent)]
    Phases(#[from] InvalidPhases),
    /// `terminate` would run phases that do not terminate.
    #[error(
        "`terminate` would run a coordinated shutdown that leaves the system running: add `terminate_directly()` to \
         the settings, or leave out `leave_system_running()`"
    )]
    TerminatesNothing,
}
