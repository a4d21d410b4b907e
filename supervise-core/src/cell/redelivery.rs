//! A message that failed and may be tried again after the restart, and then is quarantined as a dead letter.

use crate::failure::Failure;

/// A copy of a failed message.
pub(super) struct Retry<M> {
    pub(super) message: M,
    /// How often it may be delivered again.
    pub(super) left: u32,
    /// What each delivery failed with.
    pub(super) history: Vec<Failure>,
    pub(super) stage: RetryStage,
}

/// What a failed message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryStage {
    /// It is being handled.
    UnderWay,
    /// Its actor failed and nobody has decided yet.
    Failed,
    /// Its actor was restarted.
    Due,
}
