//! The four answers to a failure, what a decider knows about the child, and the default deciders.

use super::backoff::Backoff;
use super::vocabulary::Cause;
use crate::base::ActorName;

/// What a supervisor does about a failed child.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Directive {
    /// Keep the instance and continue with the next message. The failing message is lost.
    Resume,
    /// Replace the instance, keep ref, path and mailbox. Counts against the restart limit.
    Restart,
    /// Like `Restart`, after a delay that grows with every consecutive failure.
    RestartAfter(Backoff),
    /// Stop the child for good.
    Stop,
    /// The supervisor fails with the same cause, and its own parent decides. If a handler of the supervisor asked the
    /// child and returns its failure, the handler fails too; one restart answers both failures
    /// (rule [3.6](https://docs.rs/supervise/latest/supervise/docs/semantics/index.html#rule-3.6)).
    Escalate,
}

/// The child that failed, for hand-written deciders. The rules of a table see only the failure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildInfo {
    /// The child's name, unique under its parent.
    pub name: ActorName,
    /// How many restarts its current limit window has seen so far.
    pub restarts: u32,
}

/// The default table: an actor that itself could not start, was killed, or broke a death pact stops; everything else restarts. An
/// actor that passes on that one below it could not start restarts, after a delay where there is no limit (rule 5.3).
///
/// Rule [3.3](https://docs.rs/supervise/latest/supervise/docs/semantics/index.html#rule-3.3).
pub fn default_decider(failure: &impl Cause) -> Directive {
    let could_not_start = failure.is_initialization() && !failure.is_from_below();
    if could_not_start || failure.is_final() { Directive::Stop } else { Directive::Restart }
}

/// The table that never restarts: every failure stops the child.
pub fn stopping_decider(_: &impl Cause) -> Directive {
    Directive::Stop
}
