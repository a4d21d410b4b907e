//! What carries packets between nodes.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::inbox::Inbox;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A node: the name of its system, and the address at which the engine reaches it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// The node of a system at an address, such as `10.0.0.7:7000`.
    pub fn new(system: &str, address: &str) -> Self {
        Self(format!("{system}@{address}").into())
    }

    /// The name of its system.
    pub fn system(&self) -> &str {
        self.0.split('@').next().unwrap_or_default()
    }

    /// Its address.
    pub fn address(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, address)| address)
    }

    pub(super) fn text(&self) -> &Arc<str> {
        &self.0
    }
}

/// `system@host:port`
impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Carries packets between nodes, over an engine that exists.
pub trait Transport: Send + Sync + 'static {
    /// The address at which peers reach this node.
    fn address(&self) -> String;

    /// Begins to listen. `incarnation` tells this node from an earlier one at the same address. What the engine hears goes to
    /// `inbox`, whose methods never block.
    fn open(&self, me: &NodeId, incarnation: u64, inbox: Inbox) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Takes a packet for a peer. Never blocks, and must not panic.
    ///
    /// What it takes should arrive once and in order. If something is lost, the peers' association ends.
    ///
    /// # Errors
    ///
    /// Returns the packet if the queue is full.
    fn send(&self, to: &NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>>;

    /// Takes a packet as [`send`](Self::send) does, for a peer that has processed nearly everything: with this packet, at most 16 KiB of
    /// messages are under way. If an engine's buffers always hold that much, it can send the packet on the caller's thread without
    /// blocking, which saves the time of a change of threads. Packets of both methods for one peer arrive in one order.
    ///
    /// # Errors
    ///
    /// Returns the packet if the queue is full.
    fn send_at_once(&self, to: &NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        self.send(to, packet)
    }

    /// Stops listening.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// An engine could not be opened.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct TransportError(pub String);
