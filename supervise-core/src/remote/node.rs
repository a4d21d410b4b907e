//! A system that has joined others, and its peers.
//!
//! Rules 26.3 and 26.10.

mod builder;
mod drive;
mod exports;
mod find;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::{Notify, watch};

use self::builder::Limits;
use self::drive::drive;
use self::exports::Exports;
use super::association::{Association, Greeting, VERSIONS};
use super::inbound;
use super::link::Link;
use super::names::Names;
use super::remote_actor::RemoteType;
use super::transport::{NodeId, Transport};
use crate::actor::{Actor, ActorSystem, Context, Core, dispatch};
use crate::base::Uid;
use crate::observe::{Event, NodeLines};

pub use self::builder::{JoinError, NodeBuilder};
pub use self::find::{FindError, Finding};

/// A system that has joined others. Cheap to clone. It leaves when its system ends.
#[derive(Clone)]
pub struct Node(pub(super) Arc<NodeCore>);

/// What a node is.
pub(crate) struct NodeCore {
    system: ActorSystem,
    me: NodeId,
    incarnation: u64,
    secret: u64,
    /// A secret that hides uids from peers.
    veils: RandomState,
    mesh: String,
    limits: Limits,
    transport: Box<dyn Transport>,
    /// By the peer's text.
    links: Mutex<HashMap<String, Arc<Link>>>,
    is_untrusted: bool,
    served: HashMap<&'static str, RemoteType>,
    exports: Mutex<Exports>,
    pub(super) names: Mutex<Names>,
    nudge: Notify,
    /// When the first link wants its next tick, in microseconds of the system's time. It may be too early, but never too late.
    soonest: AtomicU64,
    /// The node may forget a peer.
    looks_for_gone: AtomicBool,
    lines: Mutex<NodeLines>,
    /// Changes with each association, verdict and name.
    news: watch::Sender<u64>,
    left: watch::Sender<bool>,
}

/// The node of a system, kept by the system.
#[derive(Default)]
struct Joined(Mutex<Option<Arc<NodeCore>>>);

/// Whatever ended the system: nobody waits for its peers any more.
impl Drop for Joined {
    fn drop(&mut self) {
        let node = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(node) = node {
            node.shut();
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("me", &self.0.me).finish_non_exhaustive()
    }
}

impl ActorSystem {
    /// The node of this system, if it has joined.
    pub fn node(&self) -> Option<Node> {
        let joined = self.core().extensions().get::<Joined>();
        let slot = joined.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.clone().map(Node)
    }
}

impl<A: Actor> Context<A> {
    /// The node of this actor's system, if it has joined.
    pub fn node(&self) -> Option<Node> {
        self.system().node()
    }
}

impl Node {
    /// This node.
    pub fn id(&self) -> &NodeId {
        &self.0.me
    }

    /// The peers with which there is an association now.
    pub fn peers(&self) -> Vec<NodeId> {
        let links = self.0.all_links();
        links.into_iter().filter(|link| link.numbers().is_some()).map(|link| link.peer.clone()).collect()
    }

    /// How many actors of other nodes this node knows. Those whose refs nobody holds are forgotten from time to time.
    pub fn known_refs(&self) -> usize {
        self.0.all_links().iter().map(|link| link.count()).sum()
    }

    /// How many asks of other nodes' actors wait for their answers. One whose asker has given up goes within a second.
    pub fn asks_under_way(&self) -> usize {
        self.0.all_links().iter().map(|link| link.waiting_asks()).sum()
    }

    pub(crate) fn system(&self) -> &ActorSystem {
        &self.0.system
    }

    /// How many asks of this node may be under way at a peer with the same settings.
    pub(crate) fn limit(&self) -> usize {
        self.0.limits.association.asks
    }

    pub(super) fn core_of(core: &Core) -> Option<Arc<NodeCore>> {
        ActorSystem::of(core).node().map(|node| node.0)
    }
}

impl NodeCore {
    pub(super) fn system(&self) -> &ActorSystem {
        &self.system
    }

    pub(super) fn me(&self) -> &NodeId {
        &self.me
    }

    pub(super) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// A number that no peer is told.
    pub(super) fn secret(&self) -> u64 {
        self.secret
    }

    /// A uid that is derived from this one and does not reveal it. The same number gives the same uid, and no peer can choose
    /// a number that gives the uid of an actor.
    pub(super) fn veiled(&self, uid: u64) -> Uid {
        Uid::of(self.veils.hash_one(uid))
    }

    pub(super) fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// Whether peers have few rights here.
    pub(super) fn is_untrusted(&self) -> bool {
        self.is_untrusted
    }

    pub(super) fn max_message(&self) -> usize {
        self.limits.message
    }

    fn max_packet(&self) -> u64 {
        self.limits.packet()
    }

    pub(super) fn max_refs(&self) -> usize {
        self.limits.refs
    }

    pub(super) fn now(&self) -> Duration {
        self.system.uptime()
    }

    pub(super) fn publish(&self, event: Event) {
        let line = self.lines.lock().unwrap_or_else(PoisonError::into_inner).count(&event, self.now());
        self.system.core().observer().node(event, line);
    }

    /// Who waits for an association or a name looks again.
    pub(super) fn news(&self) {
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Notes that a link wants a tick at this time.
    pub(super) fn wants_tick(&self, deadline: Duration) {
        let micros = u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX).saturating_add(1);
        if micros < self.soonest.load(Ordering::SeqCst)
            && micros < self.soonest.fetch_min(micros, Ordering::SeqCst)
        {
            self.nudge.notify_one();
        }
    }

    /// A peer may be gone for good, so the task of the node looks.
    pub(super) fn look_for_gone(&self) {
        self.looks_for_gone.store(true, Ordering::SeqCst);
        self.nudge.notify_one();
    }

    fn links(&self) -> MutexGuard<'_, HashMap<String, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn all_links(&self) -> Vec<Arc<Link>> {
        self.links().values().cloned().collect()
    }

    pub(super) fn link_of(&self, peer: &str) -> Option<Arc<Link>> {
        self.links().get(peer).cloned()
    }

    /// The link to a peer. Makes one for a peer that was not heard of.
    fn link(self: &Arc<Self>, peer: &NodeId) -> Arc<Link> {
        let mut links = self.links();
        if let Some(link) = links.get(&**peer.text()) {
            return Arc::clone(link);
        }
        let me = Greeting { versions: VERSIONS, mesh: self.mesh.clone(), uid: self.incarnation };
        let association = Association::new(self.limits.association.clone(), me, fastrand::u64(..));
        let (put, work) = unbounded_channel();
        let link = Link::new(Arc::clone(self), peer.clone(), association, put);
        links.insert(peer.to_string(), Arc::clone(&link));
        drop(links);
        dispatch::start(self.system.core(), inbound::work(Arc::clone(&link), work));
        link
    }
}
