//! The settings of a node, and how it joins.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::super::association::Settings;
use super::super::inbox::inbox;
use super::super::remote_actor::{RemoteActor, RemoteType};
use super::super::transport::{NodeId, Transport, TransportError};
use super::{Joined, Node, NodeCore, drive};
use crate::actor::{ActorSystem, dispatch};

/// The settings of a node that is yet to join.
#[must_use = "a builder does nothing until `join`"]
pub struct NodeBuilder {
    system: ActorSystem,
    served: HashMap<&'static str, RemoteType>,
    mesh: String,
    is_untrusted: bool,
    limits: Limits,
}

/// Why a system could not join.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// It has joined already: a system has one node.
    #[error("the system `{0}` has joined already")]
    Joined(String),
    /// The engine could not be opened.
    #[error("the system could not join: {0}")]
    Transport(TransportError),
    /// The system has ended.
    #[error("the system `{0}` has ended")]
    Ended(String),
}

crate::failure::debug_in_one_line!(JoinError);

#[derive(Clone)]
pub(super) struct Limits {
    pub(super) association: Settings,
    pub(super) message: usize,
    pub(super) refs: usize,
    pub(super) find: Duration,
}

/// A node looks at the clock every 10 ms at most, so its signs of life come no more often. The network and the program need time too.
const LEAST_PATIENCE: Duration = Duration::from_millis(100);

/// A year: longer times could exceed what a clock can show.
const MOST_PATIENCE: Duration = Duration::from_secs(365 * 24 * 3600);

impl Limits {
    /// The size in bytes that a packet of a peer with the same limits never exceeds: a packet has many frames, or one large frame.
    pub(super) fn packet(&self) -> u64 {
        let Settings { window, packet, .. } = self.association;
        window.max(self.message as u64).max(packet).saturating_add(packet)
    }

    /// How many bytes of one peer's packets may wait for this node. A peer has a window under way, in packets that may have but one
    /// small frame, and packets without frames.
    fn inbox(&self) -> usize {
        usize::try_from(self.packet().saturating_mul(8)).unwrap_or(usize::MAX)
    }
}

impl NodeBuilder {
    /// Lets peers find actors of this type by their paths. Peers cannot find actors of other types, and the node reads only messages for
    /// actors of served types and for actors whose refs were handed out.
    pub fn serve<A: RemoteActor>(mut self) -> Self {
        self.served.insert(A::NAME, RemoteType::of::<A>());
        self
    }

    /// Sets the name of the mesh. Nodes of different meshes refuse each other. By default it is empty.
    pub fn mesh(mut self, mesh: impl Into<String>) -> Self {
        self.mesh = mesh.into();
        self
    }

    /// Does not trust the peers: they find only actors that have a name, by [`Node::register`], and their `stop`, `poison` and `kill` become
    /// dead letters here.
    pub fn untrusted(mut self) -> Self {
        self.is_untrusted = true;
        self
    }

    /// Sets how long a peer may be silent before it is given up, between 100 milliseconds and a year. The default is 10 seconds. While Zenoh
    /// closes the connection of a peer that has stopped reading, for up to 5 seconds, other peers get nothing: with less patience they may give
    /// this node up in the meantime.
    pub fn patience(mut self, patience: Duration) -> Self {
        let patience = patience.clamp(LEAST_PATIENCE, MOST_PATIENCE);
        self.limits.association.patience = patience;
        self.limits.association.heartbeat = Settings::DEFAULT.heartbeat.min(patience / 4);
        self
    }

    /// Sets how large a message and an answer may be, in bytes. The default is 1 MiB. Peers should have the same.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.limits.message = bytes;
        self
    }

    /// Sets how many bytes may be under way to a peer, at least 256. The default is 1 MiB. Peers should have the same. Of what a peer sends to actors
    /// here with full mailboxes, 16 times as much may wait before the peer waits too
    /// (rule [26.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.11)).
    pub fn window(mut self, bytes: u64) -> Self {
        let window = bytes.max(256);
        self.limits.association.window = window;
        self.limits.association.held = window.saturating_mul(16);
        self
    }

    /// Sets how many bytes of answers may wait here for a peer that does not take them: at least 16 times the largest message, and 16 times
    /// the window. An answer that finds no room is not sent, and its asker gets `Unanswered`. The default is 64 MiB. If messages of other
    /// kinds exceed that by about a quarter, the peer is given up.
    pub fn backlog(mut self, bytes: u64) -> Self {
        self.limits.association.backlog = bytes;
        self
    }

    /// Sets how many actors of one peer this node may know, how many asks and how many watches may be under way in each direction, and how many of
    /// a peer's actors may be full at a time. A limit of 0 counts as 1. An ask of this node beyond the limit fails with `MailboxFull`, and the watcher
    /// of a watch beyond it gets a `Terminated` with `HowEnded::TooManyWatches`. A node ends its association with a peer that exceeds the
    /// limit; for watches, only after many refusals. So peers should have the same limit. The default is 65 536.
    pub fn limit(mut self, each: usize) -> Self {
        let each = each.max(1);
        self.limits.refs = each;
        self.limits.association.asks = each;
        self.limits.association.watches = each;
        self.limits.association.paused = each;
        self
    }

    /// Sets how long [`Node::find`] waits for a node and for its answer. The default is 5 seconds.
    pub fn find_timeout(mut self, timeout: Duration) -> Self {
        self.limits.find = timeout;
        self
    }

    /// Joins the nodes that the engine reaches. The node leaves when its system ends: after the last actor has ended, so that peers
    /// are told how the actors ended.
    ///
    /// # Errors
    ///
    /// If the system has joined already or has ended, or the engine cannot be opened.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the system has not joined, and may join again.
    pub async fn join(self, transport: impl Transport) -> Result<Node, JoinError> {
        let Self { system, served, mesh, is_untrusted, mut limits } = self;
        let largest = limits.association.window.max(limits.message as u64);
        limits.association.backlog = limits.association.backlog.max(largest.saturating_mul(16));
        let me = NodeId::new(system.name(), &transport.address());
        let (inbox, heard) = inbox(limits.inbox(), limits.packet());
        let core = Arc::new(NodeCore {
            me,
            incarnation: fastrand::u64(1..),
            // Random in a way that the numbers that peers are told do not give away.
            secret: RandomState::new().build_hasher().finish(),
            veils: RandomState::new(),
            mesh,
            limits,
            is_untrusted,
            transport: Box::new(transport),
            links: Mutex::default(),
            served,
            exports: Mutex::default(),
            names: Mutex::default(),
            lines: Mutex::default(),
            nudge: Notify::new(),
            soonest: AtomicU64::new(u64::MAX),
            looks_for_gone: AtomicBool::new(false),
            news: watch::Sender::new(0),
            left: watch::Sender::new(false),
            system: system.clone(),
        });
        let joined = system.core().extensions().get::<Joined>();
        {
            let mut slot = joined.0.lock().unwrap_or_else(PoisonError::into_inner);
            if slot.is_some() {
                return Err(JoinError::Joined(system.name().to_owned()));
            }
            *slot = Some(Arc::clone(&core));
        }
        let mut joins = Joins(Some(&joined));
        let (me, incarnation) = (core.me.clone(), core.incarnation);
        if let Err(error) = core.transport.open(&me, incarnation, inbox).await {
            return Err(JoinError::Transport(error));
        }
        dispatch::start(system.core(), drive(Arc::clone(&core), heard));
        let leaves = Arc::clone(&core);
        if system.on_termination(async move { leaves.leave().await }).is_err() {
            core.leave().await;
            return Err(JoinError::Ended(system.name().to_owned()));
        }
        joins.0 = None;
        Ok(Node(core))
    }
}

/// The place of a node that is about to join. If the node has not joined when this is dropped, the system may join again.
struct Joins<'a>(Option<&'a Joined>);

impl Drop for Joins<'_> {
    fn drop(&mut self) {
        let core = self.0.and_then(|joined| joined.0.lock().unwrap_or_else(PoisonError::into_inner).take());
        drop(core);
    }
}

impl fmt::Debug for NodeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBuilder").field("system", &self.system).finish_non_exhaustive()
    }
}

impl Node {
    /// A builder for the node of a system.
    pub fn builder(system: &ActorSystem) -> NodeBuilder {
        let limits = Limits {
            association: Settings::DEFAULT,
            message: 1 << 20,
            refs: 65_536,
            find: Duration::from_secs(5),
        };
        NodeBuilder {
            system: system.clone(),
            served: HashMap::new(),
            mesh: String::new(),
            is_untrusted: false,
            limits,
        }
    }
}
