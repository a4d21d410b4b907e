//! Messages that reached nobody.
//!
//! Rule 10.1.

use crate::failure::Failure;
use crate::path::ActorPath;

/// A message that reached nobody. The message itself is gone, or was given back to its sender.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Whom it was for. If a selection found nobody: the selected path, wildcards as they were written.
    pub recipient: ActorPath,
    /// What kind of message: the handler's variant, or the message's type.
    pub message: &'static str,
    /// Why it reached nobody.
    pub reason: DeadLetterReason,
    /// What each of its deliveries failed with, if it was delivered at all.
    pub failures: Vec<Failure>,
}

/// Why a message reached nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// The actor had ended, or ended with the message still in its mailbox.
    Stopped,
    /// The bounded mailbox was full and drops messages.
    MailboxFull,
    /// The stash was full.
    StashFull,
    /// It failed as often as it may be delivered again, see `#[handler(redeliver = N)]`.
    Quarantined,
    /// A selection found nobody.
    NotFound,
}
