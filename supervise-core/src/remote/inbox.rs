//! What the engine has heard and the node has not looked at yet: bounded for each peer, and for all peers together.
//!
//! The engine's threads must not block, so what exceeds a bound is refused. A peer that respects its window never reaches this.
//!
//! Rule 26.12.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, ready};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::transport::NodeId;

/// How many times as much as one peer all peers together may have sent.
const PEERS: usize = 32;

/// What a piece of news counts beside its packet, in bytes.
const HEAD: usize = 128;

/// Where an engine puts what it hears. Nothing here blocks.
#[derive(Clone)]
pub struct Inbox {
    heard: UnboundedSender<Heard>,
    waits: Arc<Waits>,
}

/// What an engine has heard.
#[derive(Debug)]
pub(super) enum Heard {
    Appeared(NodeId, u64),
    Vanished(NodeId, u64),
    Packet(NodeId, Vec<u8>),
    /// Further packets of this peer were refused.
    Flooded(NodeId),
}

/// The other end of the inbox.
pub(super) struct News {
    heard: UnboundedReceiver<Heard>,
    waits: Arc<Waits>,
}

/// What waits.
struct Waits {
    /// How many bytes of one peer's may wait.
    each: usize,
    /// How large a packet may be.
    largest: u64,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    all: usize,
    peers: HashMap<NodeId, Peer>,
}

#[derive(Default)]
struct Peer {
    bytes: usize,
    is_flooded: bool,
}

/// An inbox in which at most `each` bytes of one peer wait, in packets of at most `largest` bytes.
pub(super) fn inbox(each: usize, largest: u64) -> (Inbox, News) {
    let (put, heard) = unbounded_channel();
    let waits = Arc::new(Waits { each, largest, now: Mutex::default() });
    (Inbox { heard: put, waits: Arc::clone(&waits) }, News { heard, waits })
}

impl Inbox {
    /// This incarnation of a peer is there.
    pub fn appeared(&self, peer: NodeId, incarnation: u64) {
        self.put(Heard::Appeared(peer, incarnation));
    }

    /// This incarnation of a peer is gone.
    pub fn vanished(&self, peer: NodeId, incarnation: u64) {
        self.put(Heard::Vanished(peer, incarnation));
    }

    /// A packet came. If more of the peer's packets wait than one that keeps to its window can have sent, the packet is dropped, and
    /// the peer is given up.
    pub fn packet(&self, from: NodeId, packet: Vec<u8>) {
        self.put(Heard::Packet(from, packet));
    }

    /// The size in bytes above which a packet ends the association with its sender, so an engine need not receive more.
    pub fn largest_packet(&self) -> u64 {
        self.waits.largest
    }

    fn put(&self, heard: Heard) {
        if let Some(heard) = self.waits.admit(heard) {
            // An error means that the node has left.
            let _left = self.heard.send(heard);
        }
    }
}

impl News {
    pub(super) fn poll_recv(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Heard>> {
        let heard = ready!(self.heard.poll_recv(cx));
        if let Some(heard) = &heard {
            self.waits.taken(heard);
        }
        Poll::Ready(heard)
    }
}

impl Heard {
    fn peer(&self) -> &NodeId {
        match self {
            Self::Appeared(peer, _) | Self::Vanished(peer, _) | Self::Packet(peer, _) | Self::Flooded(peer) => {
                peer
            }
        }
    }

    fn size(&self) -> usize {
        HEAD + if let Self::Packet(_, packet) = self { packet.len() } else { 0 }
    }
}

impl Waits {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to put into the channel.
    fn admit(&self, heard: Heard) -> Option<Heard> {
        let size = heard.size();
        let mut now = self.now();
        let is_full = now.all.saturating_add(size) > self.each.saturating_mul(PEERS);
        let peer = match now.peers.get_mut(heard.peer()) {
            Some(peer) => peer,
            // The peer is not told: a gap in its packets shows it, or it loses patience.
            None if is_full => return None,
            None => now.peers.entry(heard.peer().clone()).or_default(),
        };
        let is_too_much = peer.is_flooded || peer.bytes.saturating_add(size) > self.each;
        if is_full || (is_too_much && matches!(heard, Heard::Packet(..))) {
            let is_known = std::mem::replace(&mut peer.is_flooded, true);
            return if is_known { None } else { Some(Heard::Flooded(heard.peer().clone())) };
        }
        peer.bytes += size;
        now.all += size;
        Some(heard)
    }

    /// The node looks at it.
    fn taken(&self, heard: &Heard) {
        let mut now = self.now();
        let Some(peer) = now.peers.get_mut(heard.peer()) else { return };
        if let Heard::Flooded(_) = heard {
            peer.is_flooded = false;
        } else {
            peer.bytes -= heard.size();
        }
        let is_empty = peer.bytes == 0 && !peer.is_flooded;
        if is_empty {
            now.peers.remove(heard.peer());
        }
        if !matches!(heard, Heard::Flooded(_)) {
            now.all -= heard.size();
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}
