//! Messages that reached nobody.

use crate::path::ActorPath;

/// A message that reached nobody. The message itself is gone, or was given back to its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Whom it was for. If a selection found nobody: the selected path, wildcards as they were written.
    pub recipient: ActorPath,
    /// What kind of message: the handler's variant, or the message's type.
    pub message: &'static str,
    /// Why it reached nobody.
    pub reason: DeadLetterReason,
}

/// Why a message reached nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// The actor had ended, or ended with the message still in its mailbox.
    Stopped,
    /// The bounded mailbox was full and drops messages.
    MailboxFull,
    /// A selection found nobody.
    NotFound,
}
