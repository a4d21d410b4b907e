//! Dead letters: messages that no actor handled.
//!
//! Rule 10.1.

use super::KeptMessage;
use crate::base::{ActorPath, Uid};
use crate::failure::Failure;

/// A message that no actor handled successfully. The message itself has been dropped or given back to its sender.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The path of its recipient. If a selection found no actor, it is the selected path with its wildcards.
    pub recipient: ActorPath,
    /// The name of its recipient's type, as [`std::any::type_name`] returns it. `None`: a selection found no actor.
    pub recipient_type: Option<&'static str>,
    /// The actor that sent the message. It is known only if the recipient had already ended, so that the message was lost at once, and if the
    /// sender's own code sent it; and only in builds with debug assertions, or with the feature `observe` or `testkit`.
    pub sender: Option<ActorPath>,
    /// The kind of message: the handler's variant, or the message's type.
    pub message: &'static str,
    /// Why it became a dead letter.
    pub reason: DeadLetterReason,
    /// The failures of its deliveries, if it was delivered at all. If there are more than 16: the first and the last
    /// 15.
    pub failures: Vec<Failure>,
    /// How many times it was delivered.
    pub deliveries: u32,
    /// How many deliveries it was permitted: one, and those of `#[handler(redeliver = N)]`. More than `deliveries`: its actor stopped before
    /// the next one, or had no room to keep it. The deliveries of a durable mailbox are all counted as permitted, and no others. Zero: it was
    /// never delivered.
    pub permitted: u32,
}

/// Why a message became a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// The actor had already ended, or it ended while the message was in its mailbox.
    Stopped,
    /// A [backoff supervisor](crate::pattern::BackoffSupervisor) had no child at that time: it waited before it replaced the child
    /// (rule [13.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.6)).
    NoChild,
    /// The bounded mailbox was full, and its overflow setting drops messages, or the sender's node was given up before there was room
    /// (feature `remote`).
    MailboxFull,
    /// The message needed a new keyed child, and there were as many children as their limit allows.
    TooManyChildren,
    /// The stash was full.
    StashFull,
    /// The message failed at its last permitted delivery (see `#[handler(redeliver = N)]`), or earlier if its actor stopped or had no room
    /// to keep it: [`DeadLetter::permitted`].
    Quarantined,
    /// Its asker had given up, and its handler skips such messages (`#[handler(skip_abandoned)]`).
    Abandoned,
    /// A circuit breaker was open.
    CircuitOpen,
    /// A selection found no actor.
    NotFound,
    /// The durable mailbox could not store it.
    #[cfg(feature = "durable")]
    NotAccepted,
    /// It is in quarantine, because its checksum did not match.
    #[cfg(feature = "durable")]
    Damaged,
    /// It is in quarantine, because the process died with it under way as often as it may.
    #[cfg(feature = "durable")]
    CrashedTheProcess,
    /// The recipient's node was given up (feature `remote`).
    Unreachable,
    /// The message is larger than a message to another node may be (feature `remote`).
    TooLarge,
    /// The message cannot travel to another node: its handler is `#[handler(local)]`, or it could not be written
    /// (feature `remote`).
    Unsendable,
    /// The recipient's node has no handler for the message (feature `remote`).
    UnknownMessage,
    /// The recipient's node takes no such signal from other nodes (feature `remote`).
    Untrusted,
    /// The recipient's node could not read the message (feature `remote`). Or it is in quarantine, because its actor does not know it, or
    /// cannot decode its arguments (feature `durable`).
    Undecodable,
}

impl DeadLetterReason {
    /// The name of this reason in one word, for labels of metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::NoChild => "no_child",
            Self::MailboxFull => "mailbox_full",
            Self::TooManyChildren => "too_many_children",
            Self::StashFull => "stash_full",
            Self::Quarantined => "quarantined",
            Self::Abandoned => "abandoned",
            Self::CircuitOpen => "circuit_open",
            Self::NotFound => "not_found",
            #[cfg(feature = "durable")]
            Self::NotAccepted => "not_accepted",
            #[cfg(feature = "durable")]
            Self::Damaged => "damaged",
            #[cfg(feature = "durable")]
            Self::CrashedTheProcess => "crashed_the_process",
            Self::Unreachable => "unreachable",
            Self::TooLarge => "too_large",
            Self::Unsendable => "unsendable",
            Self::UnknownMessage => "unknown_message",
            Self::Untrusted => "untrusted",
            Self::Undecodable => "undecodable",
        }
    }
}

/// Why a message that failed gets no further delivery, unless its deliveries are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// Its actor is ending.
    Stopped,
    /// Its actor has no room to keep it.
    NoRoom,
    /// It is stored, and is in quarantine: its deliveries are used up, or its actor was resumed.
    #[cfg(feature = "durable")]
    InQuarantine,
}

/// A message that is about to become a [`DeadLetter`].
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) message: &'static str,
    pub(crate) reason: DeadLetterReason,
    pub(crate) failures: Vec<Failure>,
    pub(crate) deliveries: u32,
    /// How many deliveries it was permitted.
    pub(crate) permitted: u32,
    /// Why it gets no further delivery.
    pub(crate) given_up: GivenUp,
    /// Whether an asker waits for its reply. If so, the asker gets an error.
    pub(crate) answered: bool,
    /// Whether the sender is sending the message now, on this thread.
    pub(crate) at_once: bool,
    /// The recipient.
    pub(crate) to: Option<Uid>,
    /// The message, if somebody has asked for it.
    pub(crate) kept: Option<KeptMessage>,
}

impl Lost {
    /// A message that was never delivered.
    pub(crate) fn new(message: &'static str, reason: DeadLetterReason, answered: bool) -> Self {
        Self {
            message,
            reason,
            failures: Vec::new(),
            deliveries: 0,
            permitted: 0,
            given_up: GivenUp::NoRoom,
            answered,
            at_once: false,
            to: None,
            kept: None,
        }
    }

    /// A message that its sender is sending now.
    pub(crate) fn at_once(self) -> Self {
        Self { at_once: true, ..self }
    }
}
