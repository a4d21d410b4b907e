//! What nodes tell each other beside messages, as it travels.

mod packet;
mod told;

use std::time::Duration;

use serde::{Deserialize, Serialize};

#[cfg(all(test, feature = "testkit"))]
pub(super) use self::packet::number;
pub(super) use self::packet::{decode, encode, take_number};
pub(super) use self::told::{Telling, Told};
use super::codec::write;
use crate::actor::{AskError, EndReason};
use crate::base::ActorPath;
#[cfg(feature = "durable")]
use crate::durable::AcceptError;
use crate::failure::{Failure, FailureKind, Stage};
use crate::supervision::HowEnded;

/// A ref, as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireRef {
    /// The actor's node: `system@host:port`.
    #[serde(rename = "n")]
    pub(super) node: String,
    /// The incarnation of the node.
    #[serde(rename = "i")]
    pub(super) incarnation: u64,
    #[serde(rename = "u")]
    pub(super) uid: u64,
    /// The path within the system.
    #[serde(rename = "p")]
    pub(super) path: String,
    /// The name of the actor's type; empty if it has none.
    #[serde(rename = "t")]
    pub(super) actor: String,
}

/// What a node tells another one beside messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Note {
    /// From now on, messages for this handler have this number.
    Contract { number: u64, actor: String, handler: String, arguments: Vec<String> },
    /// The actor has ended, or there is none.
    Gone { uid: u64 },
    /// What `stop`, `poison` and `kill` of a ref do.
    Signal { uid: u64, signal: Signal },
    /// The askers of these asks no longer wait.
    GivenUp { asks: Vec<u64> },
    /// The actor has this name now, or not any more.
    Named { name: String, actor: WireRef, is_taken: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Signal {
    Stop,
    Poison,
    Kill,
}

/// What one node asks another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Find {
    pub(super) path: String,
    pub(super) actor: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FindAnswer {
    Actor(WireRef),
    Nobody,
    OtherType(String),
    NotServed,
}

/// How and why an actor ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireEnd {
    how: u8,
    reason: u8,
    failure: Option<WireFailure>,
}

impl WireEnd {
    pub(super) fn new(how: HowEnded, reason: &EndReason) -> Self {
        let how = match how {
            HowEnded::Graceful => 0,
            HowEnded::Aborted => 1,
            // A subject that is not watched has a frame of its own.
            HowEnded::AlreadyGone | HowEnded::TooManyWatches => 2,
            HowEnded::Unreachable => 3,
        };
        let reason_number = match reason {
            EndReason::StoppedItself => 0,
            EndReason::Stopped => 1,
            EndReason::Failed(_) => 2,
            EndReason::LimitReached(_) => 3,
            EndReason::CouldNotStart(_) => 4,
            EndReason::RuntimeGone => 5,
            EndReason::Unreachable => 6,
            EndReason::Unknown => 7,
        };
        Self { how, reason: reason_number, failure: reason.failure().map(WireFailure::from) }
    }

    pub(super) fn how(&self) -> HowEnded {
        match self.how {
            0 => HowEnded::Graceful,
            1 => HowEnded::Aborted,
            3 => HowEnded::Unreachable,
            _ => HowEnded::AlreadyGone,
        }
    }

    pub(super) fn reason(self) -> EndReason {
        let failure = self.failure.map(WireFailure::into_failure);
        match (self.reason, failure) {
            (0, _) => EndReason::StoppedItself,
            (1, _) => EndReason::Stopped,
            (2, Some(failure)) => EndReason::Failed(failure),
            (3, Some(failure)) => EndReason::LimitReached(failure),
            (4, Some(failure)) => EndReason::CouldNotStart(failure),
            (5, _) => EndReason::RuntimeGone,
            (6, _) => EndReason::Unreachable,
            _ => EndReason::Unknown,
        }
    }
}

/// A failure, as it travels: the error's type stays on its node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireFailure {
    kind: u8,
    stage: u8,
    text: String,
    origin: Option<String>,
}

impl From<&Failure> for WireFailure {
    fn from(failure: &Failure) -> Self {
        let kind = match failure.kind() {
            FailureKind::Error => 0,
            FailureKind::Panic => 1,
            FailureKind::Killed => 2,
            FailureKind::DeathPact => 3,
            FailureKind::ByHand => 4,
        };
        let stage = match failure.stage() {
            Stage::Running => 0,
            Stage::Initialization => 1,
            Stage::PostRestart => 2,
        };
        let text = crate::failure::text_of(failure);
        Self { kind, stage, text, origin: failure.origin().map(ToString::to_string) }
    }
}

impl WireFailure {
    fn into_failure(self) -> Failure {
        let kind = match self.kind {
            1 => FailureKind::Panic,
            2 => FailureKind::Killed,
            3 => FailureKind::DeathPact,
            4 => FailureKind::ByHand,
            _ => FailureKind::Error,
        };
        let stage = match self.stage {
            1 => Stage::Initialization,
            2 => Stage::PostRestart,
            _ => Stage::Running,
        };
        let origin = self.origin.and_then(|path| path.parse::<ActorPath>().ok());
        Failure::elsewhere(kind, stage, &self.text, origin)
    }
}

/// Why an ask got no reply, as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum WireError {
    Failed(WireFailure),
    StoppedByFailure(WireFailure),
    Stopped,
    Unanswered,
    MailboxFull,
    CircuitOpen { breaker: String, retry_after: Duration },
    Undeliverable,
    ConnectionLost,
}

impl From<&AskError> for WireError {
    fn from(error: &AskError) -> Self {
        match error {
            AskError::Failed(failure) => Self::Failed(failure.into()),
            AskError::StoppedByFailure(failure) => Self::StoppedByFailure(failure.into()),
            AskError::Stopped => Self::Stopped,
            // In both cases the message was not taken, and a retry may help.
            AskError::MailboxFull | AskError::TooManyChildren => Self::MailboxFull,
            AskError::CircuitOpen(open) => {
                Self::CircuitOpen { breaker: open.breaker.to_string(), retry_after: open.retry_after }
            }
            AskError::Undeliverable => Self::Undeliverable,
            AskError::ConnectionLost => Self::ConnectionLost,
            // The asker may ask again, unless the store may already have the message.
            #[cfg(feature = "durable")]
            AskError::NotAccepted(AcceptError::Unknown(_)) => Self::ConnectionLost,
            #[cfg(feature = "durable")]
            AskError::NotAccepted(_) => Self::Undeliverable,
            AskError::Unanswered
            | AskError::Interrupted
            | AskError::Timeout(_)
            | AskError::AskedItself(_)
            | AskError::AskedInCircle(_)
            | AskError::HeldUp(_) => Self::Unanswered,
        }
    }
}

impl WireError {
    pub(super) fn into_ask_error(self) -> AskError {
        match self {
            Self::Failed(failure) => AskError::Failed(failure.into_failure()),
            Self::StoppedByFailure(failure) => AskError::StoppedByFailure(failure.into_failure()),
            Self::Stopped => AskError::Stopped,
            Self::Unanswered => AskError::Unanswered,
            Self::MailboxFull => AskError::MailboxFull,
            Self::CircuitOpen { breaker, retry_after } => match breaker.parse() {
                Ok(breaker) => AskError::CircuitOpen(Box::new(crate::actor::CircuitOpen { breaker, retry_after })),
                Err(_) => AskError::Unanswered,
            },
            Self::Undeliverable => AskError::Undeliverable,
            Self::ConnectionLost => AskError::ConnectionLost,
        }
    }
}

/// A value of this module as bytes. Its parts are numbers and texts, so it can always be written.
pub(super) fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _always = write(&mut bytes, value);
    bytes
}
