//! What an association takes and gives: data only.

use super::Body;
use crate::supervision::Time;

/// The number of an association, chosen by one of its two sides.
pub type Number = u64;

/// The uid of an incarnation, of a node or of an actor.
pub type Id = u64;

/// The settings of an association. Both sides should have the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// How long a peer may be silent.
    pub patience: Time,
    /// After how long a side that has nothing to say says that it is alive.
    pub heartbeat: Time,
    /// How often a greeting is repeated at first. Each pause is twice the one before, up to `heartbeat`.
    pub greet_every: Time,
    /// For how long processed bytes may stay unacknowledged.
    pub acknowledge_within: Time,
    /// How many bytes may be sent and not acknowledged.
    pub window: u64,
    /// How many bytes of frames one packet may hold, unless its only frame is larger.
    pub packet: u64,
    /// How many bytes of answers may be queued for a peer that does not process what was sent.
    pub backlog: u64,
    /// How many asks of one side may be under way.
    pub asks: usize,
    /// How many watches of one side may be under way.
    pub watches: usize,
    /// How many bytes of messages may wait for room in full mailboxes before they close the window.
    pub held: u64,
    /// How many actors of the peer's may be paused.
    pub paused: usize,
}

impl Settings {
    /// The settings of a node that sets none.
    pub const DEFAULT: Self = Self {
        patience: Time::from_secs(10),
        heartbeat: Time::from_secs(1),
        greet_every: Time::from_millis(250),
        acknowledge_within: Time::from_millis(50),
        window: 1 << 20,
        packet: 1 << 16,
        backlog: 1 << 26,
        asks: 65_536,
        watches: 65_536,
        held: 1 << 24,
        paused: 65_536,
    };

    /// How many bytes may be queued in all before the association ends. News and errors need room even if answers take all theirs.
    pub fn most_queued(&self) -> u64 {
        let errors = (self.asks as u64).saturating_mul(Frame::HEAD * 2);
        self.backlog.saturating_add(self.backlog / 4).saturating_add(errors)
    }

    /// How many asks may seem to be under way from a peer that respects `asks`: the peer may have replaced asks that were given up,
    /// before this side has read which ones.
    pub(super) fn most_asks(&self) -> usize {
        self.asks.saturating_add(self.unread())
    }

    /// How many refused watches of a peer, which it has not taken back, end the association. This side refuses no watch of a peer that
    /// respects `watches`; one with a higher limit may have sent a window of them before it learns that this side has a lower one.
    /// A peer that goes on after it has read the refusals may do so for as long as it takes back what was refused.
    pub(super) fn most_refused(&self) -> usize {
        self.watches.saturating_add(self.unread())
    }

    /// How many frames may be under way.
    fn unread(&self) -> usize {
        let unread = (self.window.saturating_add(self.reserve())) / Frame::HEAD;
        usize::try_from(unread).unwrap_or(usize::MAX)
    }

    /// How many bytes of [`Frame::Pause`] and [`Frame::Resume`] may be under way beyond the window, which a full actor may keep closed.
    pub fn reserve(&self) -> u64 {
        (self.window / 8).max(Frame::HEAD)
    }
}

/// The oldest and the newest version of the wire that this release speaks. Versions 1 to 3 were never released.
pub const VERSIONS: (u16, u16) = (4, 4);

/// What a side says of itself when it greets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Greeting {
    /// The versions of the wire that it speaks: the oldest and the newest.
    pub versions: (u16, u16),
    /// Nodes of different meshes do not talk to each other.
    pub mesh: String,
    /// The uid of the node's incarnation.
    pub uid: Id,
}

/// What travels between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Packet {
    /// Wants an association, or wants to know whether the one that it names still holds.
    Hello {
        /// Who greets.
        from: Greeting,
        /// The sender's number.
        mine: Number,
    },
    /// Answers a [`Hello`](Self::Hello).
    Welcome {
        /// Who answers.
        from: Greeting,
        /// The number of the greeting.
        yours: Number,
        /// The sender's number.
        mine: Number,
    },
    /// Frames, or a sign of life, of one association.
    Frames {
        /// The receiver's number.
        to: Number,
        /// The sender's number.
        from: Number,
        /// How many such packets the sender sent before.
        sequence: u64,
        /// How many bytes of the receiver's frames the sender has processed.
        acknowledged: u64,
        /// The frames.
        frames: Vec<Frame>,
    },
    /// The sender has no association of these numbers, or no longer.
    Goodbye {
        /// The receiver's number.
        to: Number,
        /// The sender's number.
        from: Number,
    },
}

/// One thing that an actor of one node says to an actor of the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Frame {
    /// Messages that are told.
    Tell {
        /// The recipient.
        to: Id,
        /// How many messages the body has.
        count: u32,
        /// The messages, one behind the other.
        body: Body,
    },
    /// A message that is asked.
    Ask {
        /// The recipient; 0 is the node itself.
        to: Id,
        /// The asker's number for it.
        ask: u64,
        /// The message.
        body: Body,
    },
    /// The answer to an ask.
    Answer {
        /// The ask.
        ask: u64,
        /// The answer.
        body: Body,
    },
    /// The watcher wants to know when the subject, an actor of the receiver's, ends.
    Watch {
        /// The actor of the receiver's.
        subject: Id,
        /// The actor of the sender's.
        watcher: Id,
        /// What the receiver needs to know of the watcher.
        body: Body,
    },
    /// The watcher does not want to know any more.
    Unwatch {
        /// The actor of the receiver's.
        subject: Id,
        /// The actor of the sender's.
        watcher: Id,
    },
    /// The subject, an actor of the sender's, has ended.
    Ended {
        /// The actor of the sender's.
        subject: Id,
        /// The actor of the receiver's.
        watcher: Id,
        /// How and why.
        body: Body,
    },
    /// The subject, an actor of the sender's, is not watched, because the receiver has too many watches.
    NotWatched {
        /// The actor of the sender's.
        subject: Id,
        /// The actor of the receiver's.
        watcher: Id,
    },
    /// The mailbox of this actor of the sender's is full: send it no more messages until `Resume`.
    Pause {
        /// The actor of the sender's.
        to: Id,
    },
    /// What waited for room in the actor's mailbox has found it.
    Resume {
        /// The actor of the sender's.
        to: Id,
    },
    /// Anything else, which the association passes on.
    Note(Body),
}

impl Frame {
    /// What a frame counts beside its body, in bytes: at least what its head takes on the wire. Each message of a
    /// [`Frame::Tell`] counts this much, because it takes memory of its own where it waits.
    pub const HEAD: u64 = 32;

    /// How many bytes of the window the frame takes.
    pub fn size(&self) -> u64 {
        let body = match self {
            Self::Tell { count, body, .. } => return Self::HEAD * u64::from(*count) + body.len() as u64,
            Self::Ask { body, .. }
            | Self::Answer { body, .. }
            | Self::Watch { body, .. }
            | Self::Ended { body, .. }
            | Self::Note(body) => body.len(),
            Self::Unwatch { .. } | Self::NotWatched { .. } | Self::Pause { .. } | Self::Resume { .. } => 0,
        };
        Self::HEAD + u64::try_from(body).unwrap_or(u64::MAX - Self::HEAD)
    }
}

/// Something that happened to an association. Frames of this node go in by [`Association::send`](super::Association::send).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// The engine says that this incarnation of the peer is there.
    Appeared(Id),
    /// The engine says that this incarnation of the peer is gone.
    Vanished(Id),
    /// A packet arrived.
    Received(Packet),
    /// A delivered frame waits for room in the mailbox of an actor here. [`Processed`](Self::Processed) follows for it too.
    Held {
        /// This side's number of its association.
        mine: Number,
        /// The actor.
        to: Id,
        /// The size of the frame.
        bytes: u64,
    },
    /// A frame that was held waits no more.
    Released {
        /// This side's number of its association.
        mine: Number,
        /// The actor.
        to: Id,
        /// The size of the frame.
        bytes: u64,
    },
    /// So many bytes of delivered frames have been processed.
    Processed {
        /// This side's number of their association.
        mine: Number,
        /// How many bytes.
        bytes: u64,
    },
    /// Time has passed.
    Tick,
    /// This node leaves.
    Leave,
    /// The peer broke a limit or a rule that the association does not know.
    Broke,
}

/// What the performer of an association has to do, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Hand this to the engine.
    Transmit(Packet),
    /// There is an association. `mine` is this side's number, `yours` the peer's.
    Up {
        /// This side's number.
        mine: Number,
        /// The peer's number.
        yours: Number,
    },
    /// Carry out these frames of the peer's, and say so by [`Input::Processed`].
    Deliver {
        /// This side's number of their association.
        mine: Number,
        /// The frames, in their order.
        frames: Vec<Frame>,
        /// Their bytes, with those of frames that were dropped.
        bytes: u64,
    },
    /// The mailbox of this actor of the peer's has room again.
    Resumed {
        /// The actor.
        to: Id,
    },
    /// The association has ended. What follows of `Unreachable`, `Forget`, `Resolve` and `Unsent` belongs to it.
    Verdict {
        /// This side's number.
        mine: Number,
        /// Why it ended.
        why: Why,
    },
    /// Tell the watcher, an actor of this node, that the subject is unreachable.
    Unreachable {
        /// The actor of the peer's.
        subject: Id,
        /// The actor of this node's.
        watcher: Id,
    },
    /// The subject, an actor of this node, is not watched from there any more.
    Forget {
        /// The actor of this node's.
        subject: Id,
        /// The actor of the peer's.
        watcher: Id,
    },
    /// The ask gets no answer. If it was not sent, a retry is safe.
    Resolve {
        /// The ask.
        ask: u64,
        /// Whether it may have been handled.
        sent: bool,
    },
    /// This frame was not sent.
    Unsent(Frame),
    /// The peer cannot have an association with this node.
    Refused(Refusal),
}

/// Why an association ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// The engine says that the peer is gone.
    Vanished,
    /// The peer has ended the association, or has none with this node.
    Goodbye,
    /// The peer was silent for too long.
    Silent,
    /// A packet of the peer's is missing.
    Lost,
    /// The peer was started anew.
    Restarted,
    /// The peer has begun a new association.
    GaveUp,
    /// The peer broke a limit or the protocol.
    Broke,
    /// This node leaves.
    Left,
}

/// Why two nodes cannot talk to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// They speak no common version.
    Version,
    /// They belong to different meshes.
    Mesh,
}
