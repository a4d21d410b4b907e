//! The four answers to a failure, what a decider knows about the child, and the default deciders.

use std::time::Duration;

use super::backoff::Backoff;
use super::settings::{Limit, Window};
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
    /// Like `Restart`, with terms of its own: a limit in addition to the strategy's, and perhaps a backoff
    /// (rule [7.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.11)).
    RestartOn(Terms),
    /// Stop the child for good.
    Stop,
    /// The supervisor fails with the same cause, and its own parent decides. If a handler of the supervisor asked the
    /// child and returns its failure, the handler fails too; one restart answers both failures
    /// (rule [3.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-3.6)).
    Escalate,
}

/// The terms of one rule: `Restart(max_retries = 5, within = "1m", backoff(..))`.
///
/// ```
/// # extern crate supervise_core as supervise;
/// use std::time::Duration;
/// use supervise::{Backoff, Directive, Terms};
///
/// let terms = Terms::of_rule(2).max_retries(5).within(Duration::from_secs(60));
/// assert_eq!(Directive::RestartOn(terms).limit().max_retries, Some(5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Terms {
    /// Which rule of its table this is. Each rule has a count of its own.
    pub rule: u16,
    /// How many restarts the rule grants.
    pub limit: Limit,
    /// The delay, in place of the strategy's.
    pub backoff: Option<Backoff>,
}

impl Terms {
    /// The terms of the rule of this number: no limit, and the strategy's backoff.
    pub const fn of_rule(rule: u16) -> Self {
        Self { rule, limit: Limit::UNLIMITED, backoff: None }
    }

    /// Grants at most `retries` restarts: in each window if [`within`](Self::within) is set, otherwise in total.
    pub const fn max_retries(mut self, retries: u32) -> Self {
        self.limit.max_retries = Some(retries);
        self
    }

    /// Sets the length of the window. Without [`max_retries`](Self::max_retries), it grants one restart per window.
    ///
    /// # Panics
    ///
    /// If `window` is zero.
    #[track_caller]
    pub const fn within(mut self, window: Duration) -> Self {
        self.limit = self.limit.per(window);
        self
    }

    /// Sets how the window moves.
    pub const fn window(mut self, window: Window) -> Self {
        self.limit.window = window;
        self
    }

    /// Delays the restart.
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = Some(backoff);
        self
    }
}

impl Directive {
    /// Whether the child is to be restarted.
    pub const fn restarts(&self) -> bool {
        matches!(self, Self::Restart | Self::RestartAfter(_) | Self::RestartOn(_))
    }

    /// Whether the rule declares a delay.
    pub(crate) const fn has_backoff(&self) -> bool {
        match self {
            Self::RestartAfter(_) => true,
            Self::RestartOn(terms) => terms.backoff.is_some(),
            Self::Resume | Self::Restart | Self::Stop | Self::Escalate => false,
        }
    }

    /// Whether the rule declares a limit.
    pub(crate) const fn is_limited(&self) -> bool {
        matches!(self, Self::RestartOn(terms) if !terms.limit.is_unlimited())
    }

    /// The delay that the rule declares.
    pub const fn backoff(&self) -> Option<Backoff> {
        match self {
            Self::RestartAfter(backoff) => Some(*backoff),
            Self::RestartOn(terms) => terms.backoff,
            Self::Resume | Self::Restart | Self::Stop | Self::Escalate => None,
        }
    }

    /// The limit that the rule declares.
    pub const fn limit(&self) -> Limit {
        match self {
            Self::RestartOn(terms) => terms.limit,
            _ => Limit::UNLIMITED,
        }
    }
}

/// The child that failed, for hand-written deciders. The rules of a table see only the failure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildInfo {
    /// The child's name, unique under its parent.
    pub name: ActorName,
    /// How many restarts its current limit window has seen so far.
    pub restarts: u32,
    /// Whether a restart under way will answer the failure, so that no limit and no backoff counts it (rule 7.10).
    pub(crate) is_answered: bool,
    /// How many times the child has begun to run. It wraps.
    pub(crate) runs: u8,
}

/// The default table. An actor stops if it was killed or broke a death pact. Every other failed actor restarts. One that could not
/// start or restart is tried again too, after a delay if there is no limit
/// (rule [5.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-5.3)).
///
/// Rule [3.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-3.3).
pub fn default_decider(failure: &impl Cause) -> Directive {
    if failure.is_final() { Directive::Stop } else { Directive::Restart }
}

/// The table that never restarts: every failure stops the child.
pub fn stopping_decider(_: &impl Cause) -> Directive {
    Directive::Stop
}
