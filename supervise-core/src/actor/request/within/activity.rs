//! What an actor was found doing when the time of an ask was over.
//!
//! Rule 19.6.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fmt;

use crate::actor::actor_ref::AnyActorRef;
use crate::actor::cell::CellProtocol;
use crate::actor::description::ActorType;
use crate::base::ActorPath;

/// How many of the busy actors behind a pattern are named.
const NAMED: usize = 3;

/// What an actor was found doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecipientActivity {
    Ended,
    Stopping,
    Failed,
    Suspended,
    Starting,
    /// Its code awaits an answer of this actor.
    Asking(ActorPath),
    /// This many messages wait or are being handled.
    Busy(usize),
    Idle,
    /// It is a pattern, which passes messages on to other actors.
    InFront(Behind),
}

/// The actors behind a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behind {
    /// How many messages the pattern itself has.
    waiting: usize,
    /// The busiest ones, by their names below the pattern.
    busy: Vec<(String, RecipientActivity)>,
    /// How many others are not idle.
    others: usize,
    idle: usize,
}

impl RecipientActivity {
    pub(super) fn of(actor: &AnyActorRef, asked: ActorType) -> Self {
        let found = Self::of_any(actor);
        let is_pattern = !actor.core().description().is(asked);
        match found {
            Self::Idle if is_pattern => Self::InFront(Behind::of(actor, asked, 0)),
            Self::Busy(waiting) if is_pattern => Self::InFront(Behind::of(actor, asked, waiting)),
            found => found,
        }
    }

    fn of_any(actor: &AnyActorRef) -> Self {
        if actor.has_ended() {
            return Self::Ended;
        }
        let found = Self::by_protocol(&actor.core().protocol());
        found.unwrap_or_else(|| match (actor.core().waits_for().first(), actor.0.pending()) {
            (Some(other), _) => Self::Asking(other.path()),
            (None, 0) => Self::Idle,
            (None, messages) => Self::Busy(messages),
        })
    }

    fn by_protocol(protocol: &CellProtocol) -> Option<Self> {
        if protocol.is_stopping() {
            Some(Self::Stopping)
        } else if protocol.has_failed() {
            Some(Self::Failed)
        } else if protocol.suspensions() > 0 {
            Some(Self::Suspended)
        } else if protocol.is_starting() {
            Some(Self::Starting)
        } else {
            None
        }
    }

    fn messages(&self) -> usize {
        if let Self::Busy(messages) = self { *messages } else { 0 }
    }
}

impl Behind {
    /// Looks at the actors of the asked type behind a pattern, which may be behind other patterns.
    fn of(pattern: &AnyActorRef, asked: ActorType, waiting: usize) -> Self {
        let below = format!("{}/", pattern.path());
        let (mut busy, mut idle) = (Vec::new(), 0);
        let mut patterns = VecDeque::from([pattern.clone()]);
        while let Some(pattern) = patterns.pop_front() {
            let children: Vec<AnyActorRef> =
                pattern.core().protocol().children().map(|(_, child)| child.clone()).collect();
            for child in children.into_iter().filter(|child| child.core().answers_to(asked.id())) {
                if !child.core().description().is(asked) {
                    patterns.push_back(child);
                    continue;
                }
                match RecipientActivity::of_any(&child) {
                    RecipientActivity::Idle => idle += 1,
                    found => {
                        let path = child.path().to_string();
                        busy.push((path.strip_prefix(&below).unwrap_or(&path).to_owned(), found));
                    }
                }
            }
        }
        busy.sort_by_key(|(_, found)| Reverse(found.messages()));
        let others = busy.len().saturating_sub(NAMED);
        busy.truncate(NAMED);
        Self { waiting, busy, others, idle }
    }
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting, busy, others, idle } = self;
        match waiting {
            0 => {}
            1 => f.write_str("it has a message that it has not passed on; ")?,
            _ => write!(f, "it has {waiting} messages that it has not passed on; ")?,
        }
        if busy.is_empty() {
            return match (waiting, idle) {
                (_, 0) => f.write_str("there is no actor behind it"),
                (0, _) => f.write_str("it has passed the message on, the actors behind it are idle, and somebody holds the reply slot"),
                (_, _) => f.write_str("the actors behind it are idle"),
            };
        }
        f.write_str("behind it, ")?;
        for (at, (name, found)) in busy.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{name}: {found}")?;
        }
        match others {
            0 => Ok(()),
            _ => write!(f, "; {others} more are not idle"),
        }
    }
}

impl fmt::Display for RecipientActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ended => "it has ended, and somebody else holds the reply slot",
            Self::Stopping => "it is stopping",
            Self::Failed => "it has failed, and has not been restarted or resumed yet",
            Self::Suspended => "it is suspended, because an actor above it or beside it failed",
            Self::Starting => "it is starting",
            Self::Asking(other) => return write!(f, "it waits for an answer of {other}"),
            Self::InFront(behind) => return fmt::Display::fmt(behind, f),
            Self::Busy(1) => "it is handling a message",
            Self::Busy(messages) => {
                return write!(f, "{messages} messages wait or are being handled");
            }
            Self::Idle => "it is idle, and somebody holds the reply slot",
        })
    }
}
