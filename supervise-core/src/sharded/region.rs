//! What the actors of one node share: which nodes take part, and to which of them a key belongs.
//!
//! Rules 28.1 and 28.2.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use super::ShardKey;
use super::gate::Gate;
use super::keeper::Keeper;
use crate::actor::{ActorRef, ActorSystem};
use crate::base::{contained, drop_contained};
use crate::keyed::Children;
use crate::remote::{Node, NodeId, RemoteActor, message_pack};

/// How many keepers a node asks at most, at the same time, to let a key go.
const RELEASES: usize = 1024;

/// What the route, the gate and the keeper of one node share.
pub(super) struct Region<K: ShardKey, A: RemoteActor> {
    pub(super) name: String,
    pub(super) system: ActorSystem,
    /// The actors that are at home here.
    pub(super) actors: Children<K, A>,
    pub(super) handover: Duration,
    /// Bounds how many keepers are asked at the same time to let a key go, because a node gives up a peer that asks too much.
    pub(super) releases: Semaphore,
    /// Whether this node was told to leave. Its views do not show that: the first views do not contain this node either, because it
    /// registers its names after its keeper has begun.
    leaves: AtomicBool,
    view: watch::Sender<Arc<View<K, A>>>,
}

/// The nodes that take part, as this node sees them.
pub(super) struct View<K: ShardKey, A: RemoteActor> {
    /// Counts the views of this node, so that each has its own number.
    pub(super) number: u64,
    /// The same on all nodes that see the same nodes.
    pub(super) fingerprint: u64,
    /// In the order of their names.
    pub(super) members: Vec<Member<K, A>>,
    /// Nodes that do not take part any more, and have not let all of their keys go.
    pub(super) leaving: Vec<Holder<K, A>>,
}

/// A node that takes part.
pub(super) struct Member<K: ShardKey, A: RemoteActor> {
    pub(super) node: NodeId,
    pub(super) is_here: bool,
    pub(super) gate: ActorRef<Gate<K, A>>,
    holder: Holder<K, A>,
    weight: u64,
}

/// A node that may have actors.
pub(super) struct Holder<K: ShardKey, A: RemoteActor> {
    pub(super) keeper: ActorRef<Keeper<K, A>>,
    /// Whether it has let go of all keys that belong to other nodes in this view.
    settled: AtomicBool,
}

impl<K: ShardKey, A: RemoteActor> Region<K, A> {
    pub(super) fn new(name: &str, node: &Node, actors: Children<K, A>, handover: Duration) -> Self {
        let view = watch::Sender::new(Arc::new(View::new(0, Vec::new(), Vec::new())));
        let releases = Semaphore::new((node.limit() / 4).clamp(1, RELEASES));
        let (name, system, leaves) = (name.to_owned(), node.system().clone(), AtomicBool::new(false));
        Self { name, system, actors, handover, releases, leaves, view }
    }

    /// This node was told to leave, and instances of the keeper to come know it.
    pub(super) fn leave(&self) {
        self.leaves.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }

    pub(super) fn view(&self) -> Arc<View<K, A>> {
        Arc::clone(&self.view.borrow())
    }

    /// The views from now on.
    pub(super) fn views(&self) -> watch::Receiver<Arc<View<K, A>>> {
        self.view.subscribe()
    }

    pub(super) fn publish(&self, view: Arc<View<K, A>>) {
        let earlier = self.view.send_replace(view);
        drop(earlier);
    }
}

impl<K: ShardKey, A: RemoteActor> View<K, A> {
    pub(super) fn new(number: u64, members: Vec<Member<K, A>>, leaving: Vec<Holder<K, A>>) -> Self {
        let weights = members.iter().map(|member| member.weight);
        let fingerprint = weights.fold(0, |all, weight| mixed(all ^ weight));
        Self { number, fingerprint, members, leaving }
    }

    /// Whether the view before had the same members, and knew all nodes that are leaving.
    pub(super) fn is_same(&self, before: &Self) -> bool {
        let is_known = |now: &Holder<K, A>| before.leaving.iter().any(|earlier| earlier.keeper == now.keeper);
        self.leaving.iter().all(is_known)
            && self.members.len() == before.members.len()
            && self.members.iter().zip(&before.members).all(|(now, before)| now.is_same(before))
    }

    /// The home of a key: the member whose hash, mixed with that of the key, is largest (rendezvous hashing). So only its own keys move
    /// when a node comes or goes.
    pub(super) fn home(&self, key: u64) -> Option<&Member<K, A>> {
        self.members.iter().max_by_key(|member| mixed(key ^ member.weight))
    }

    /// The other nodes that may have actors.
    pub(super) fn others(&self) -> impl Iterator<Item = &Holder<K, A>> {
        let others = self.members.iter().filter(|member| !member.is_here).map(|member| &member.holder);
        others.chain(&self.leaving)
    }

    /// The other nodes that may still have actors of keys that belong to this node.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = &Holder<K, A>> {
        self.others().filter(|other| !other.is_settled())
    }
}

impl<K: ShardKey, A: RemoteActor> Member<K, A> {
    pub(super) fn new(node: NodeId, gate: ActorRef<Gate<K, A>>, keeper: ActorRef<Keeper<K, A>>) -> Self {
        let weight = mixed(hash_of(node.to_string().as_bytes()));
        Self { node, is_here: gate.is_local(), gate, holder: Holder::new(keeper), weight }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.node == other.node && self.gate == other.gate && self.holder.keeper == other.holder.keeper
    }
}

impl<K: ShardKey, A: RemoteActor> Holder<K, A> {
    pub(super) fn new(keeper: ActorRef<Keeper<K, A>>) -> Self {
        Self { keeper, settled: AtomicBool::new(false) }
    }

    pub(super) fn settles(&self) {
        self.settled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Relaxed) || self.keeper.has_ended()
    }
}

/// The name under which nodes that take part find each other.
pub(super) fn entry(name: &str) -> String {
    format!("sharded {name}")
}

/// A number that is the same for equal keys on all nodes. `None` if the key cannot be written.
pub(super) fn hash<K: Serialize>(key: &K) -> Option<u64> {
    match contained(|| message_pack(key)) {
        Ok(written) => written.ok().map(|bytes| hash_of(&bytes)),
        Err(payload) => {
            drop_contained(payload);
            None
        }
    }
}

/// FNV-1a with 64 bits. Nodes of different releases must agree on it, so it must not change.
fn hash_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Spreads a number over all bits (the last steps of `SplitMix64`). Must not change either.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
