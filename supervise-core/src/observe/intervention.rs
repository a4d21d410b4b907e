//! What an operator may do to an actor.

use std::fmt;

/// What an operator may do to one actor by hand: [`ActorSystem::intervene`](crate::ActorSystem::intervene).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Intervention {
    /// Replace its instance
    /// (rule [23.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.8)).
    Restart,
    /// End the delay for which it waits
    /// (rule [23.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-23.5)).
    RestartNow,
    /// Let its next delay be the first one again.
    ResetBackoff,
    /// Stop it for good, with all actors below it.
    Stop,
}

impl fmt::Display for Intervention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Restart => "restart",
            Self::RestartNow => "restart now",
            Self::ResetBackoff => "reset backoff",
            Self::Stop => "stop",
        })
    }
}
