//! The registry: names that a node gives to its actors, and tells its peers.
//!
//! Peers hear of changes in order, because each is sent under the names' lock.
//!
//! Rule 26.9.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::association::Frame;
use super::link::Link;
use super::node::{Node, NodeCore};
use super::remote_actor::RemoteActor;
use super::transport::NodeId;
use super::wire::{Note, WireRef, bytes};
use crate::actor::{ActorSystem, RefOf, TypedRef, dispatch};

/// How many names a node may have.
const NAMES: usize = 4096;

/// How long a name and the path of its actor may be, in bytes.
const LONGEST: usize = 2048;

/// Names of actors here and at the peers.
#[derive(Default)]
pub(crate) struct Names {
    own: BTreeMap<String, Vec<WireRef>>,
    /// Actors here that have or had names, and whose ends are awaited.
    awaited: HashSet<u64>,
    peers: HashMap<NodeId, BTreeMap<String, Vec<WireRef>>>,
}

/// Why an actor got no name.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The actor lives on another node, which may give it a name.
    #[error("the actor lives on another node: register it there")]
    Elsewhere,
    /// The actor has ended.
    #[error("the actor has ended")]
    Ended,
    /// The node has too many names.
    #[error("a node has at most {NAMES} names")]
    TooMany,
    /// The name or the actor's path is too long.
    #[error("a name and the path of its actor have at most {LONGEST} bytes each")]
    TooLong,
}

crate::failure::debug_in_one_line!(RegisterError);

/// The actors of all nodes that have a name, see [`Node::listing`].
pub struct Listing<A> {
    node: Arc<NodeCore>,
    name: String,
    news: watch::Receiver<u64>,
    actor: PhantomData<fn() -> A>,
}

impl<A: RemoteActor> Listing<A> {
    /// The actors that have the name now, those of this node first.
    pub fn now(&self) -> Vec<RefOf<A>> {
        let named = self.node.named(&self.name);
        let typed = named.iter().filter(|wire| wire.actor == A::NAME);
        let found = typed.map(|wire| self.node.read_ref::<A>(wire));
        found.filter(|actor| !actor.has_ended()).map(RefOf::<A>::from).collect()
    }

    /// Waits until some name or node has changed since the last call.
    ///
    /// # Cancel safety
    ///
    /// No change is missed when the future is dropped.
    pub async fn changed(&mut self) {
        // The sender lives as long as the node, which this holds.
        let _lives = self.news.changed().await;
    }
}

impl<A> fmt::Debug for Listing<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Node {
    /// Gives an actor of this node a name, and tells the peers. Several actors may have one name. The name is removed when the actor ends.
    /// Giving an actor the same name twice has no effect.
    ///
    /// # Errors
    ///
    /// If the actor has ended or lives on another node, this node has too many names, or the name or the actor's path is longer
    /// than 2048 bytes.
    pub fn register<R>(&self, name: impl Into<String>, actor: &R) -> Result<(), RegisterError>
    where
        R: TypedRef<Actor: RemoteActor>,
    {
        let (name, actor) = (name.into(), actor.actor_ref().clone());
        if !actor.is_local() {
            return Err(RegisterError::Elsewhere);
        }
        if actor.has_ended() {
            return Err(RegisterError::Ended);
        }
        let wire = self.0.write_ref(&actor);
        if is_too_long(&name, &wire) {
            return Err(RegisterError::TooLong);
        }
        let uid = wire.uid;
        let is_awaited = {
            let mut names = self.0.names();
            let known = names.own.get(&name).is_some_and(|named| named.contains(&wire));
            if known {
                return Ok(());
            }
            if names.own.values().map(Vec::len).sum::<usize>() >= NAMES {
                return Err(RegisterError::TooMany);
            }
            self.0.tell_all(&name, &wire, true);
            names.own.entry(name).or_default().push(wire);
            !names.awaited.insert(uid)
        };
        self.0.news();
        if !is_awaited {
            let (node, system): (_, ActorSystem) = (Arc::clone(&self.0), self.0.system().clone());
            let ends = async move {
                system.ended(&actor).await;
                node.withdraw_all(uid);
            };
            dispatch::start(self.0.system().core(), ends);
        }
        Ok(())
    }

    /// Takes a name back.
    pub fn unregister<R>(&self, name: &str, actor: &R)
    where
        R: TypedRef<Actor: RemoteActor>,
    {
        if actor.actor_ref().is_local() {
            self.0.withdraw(name, &self.0.write_ref(actor.actor_ref()));
        }
    }

    /// The actors of all nodes that have this name.
    pub fn listing<A: RemoteActor>(&self, name: impl Into<String>) -> Listing<A> {
        Listing { node: Arc::clone(&self.0), name: name.into(), news: self.0.subscribe(), actor: PhantomData }
    }
}

impl NodeCore {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn named(&self, name: &str) -> Vec<WireRef> {
        let names = self.names();
        let peers = names.peers.values().filter_map(|names| names.get(name));
        names.own.get(name).into_iter().chain(peers).flatten().cloned().collect()
    }

    /// Whether an actor of this node has a name.
    pub(super) fn has_name(&self, uid: u64) -> bool {
        self.names().own.values().flatten().any(|named| named.uid == uid)
    }

    /// Whether a peer has names.
    #[cfg(all(test, feature = "testkit"))]
    pub(super) fn knows_names(&self) -> bool {
        !self.names().peers.is_empty()
    }

    /// How many names of peers are kept.
    #[cfg(all(test, feature = "testkit"))]
    pub(super) fn peer_names(&self) -> usize {
        self.names().peers.values().map(BTreeMap::len).sum()
    }

    fn tell_all(&self, name: &str, actor: &WireRef, is_taken: bool) {
        for link in self.all_links() {
            tell(&link, name, actor, is_taken);
            link.flush();
        }
    }

    fn withdraw(&self, name: &str, actor: &WireRef) {
        let mut names = self.names();
        let Some(holders) = names.own.get_mut(name) else { return };
        let before = holders.len();
        holders.retain(|one| one != actor);
        if holders.len() < before {
            self.tell_all(name, actor, false);
        }
        names.own.retain(|_, holders| !holders.is_empty());
        drop(names);
        self.news();
    }

    /// An actor that had names has ended.
    fn withdraw_all(&self, uid: u64) {
        let mut names = self.names();
        names.awaited.remove(&uid);
        for (name, holders) in &mut names.own {
            for gone in holders.extract_if(.., |one| one.uid == uid) {
                self.tell_all(name, &gone, false);
            }
        }
        names.own.retain(|_, holders| !holders.is_empty());
        drop(names);
        self.news();
    }

    /// Tells a peer the names, because there is a new association.
    pub(super) fn greet_with_names(&self, link: &Link, mine: u64) {
        let names = self.names();
        if link.numbers().is_none_or(|numbers| numbers.0 != mine) {
            return;
        }
        for (name, named) in &names.own {
            for actor in named {
                tell(link, name, actor, true);
            }
        }
        link.flush();
    }

    /// A peer has given or taken a name. Returns whether the peer is within the limits.
    pub(super) fn peer_named(&self, link: &Link, name: String, actor: WireRef, is_taken: bool) -> bool {
        // A peer names its own actors.
        if *actor.node != **link.peer.text() {
            return true;
        }
        if is_too_long(&name, &actor) {
            return false;
        }
        let mut names = self.names();
        let of_peer = names.peers.entry(link.peer.clone()).or_default();
        if is_taken {
            let holders = of_peer.entry(name).or_default();
            // A name that was registered while the association began may be told twice.
            holders.retain(|one| one.uid != actor.uid);
            holders.push(actor);
            if of_peer.values().map(Vec::len).sum::<usize>() > NAMES {
                return false;
            }
        } else if let Some(holders) = of_peer.get_mut(&name) {
            holders.retain(|one| one.uid != actor.uid);
            if holders.is_empty() {
                of_peer.remove(&name);
            }
        }
        drop(names);
        self.news();
        true
    }

    /// The association with a peer is over, and with it the peer's names.
    pub(super) fn peer_left(&self, peer: &NodeId) {
        let gone = self.names().peers.remove(peer);
        if gone.is_some() {
            self.news();
        }
    }
}

fn is_too_long(name: &str, actor: &WireRef) -> bool {
    name.len().max(actor.path.len()).max(actor.actor.len()) > LONGEST
}

fn tell(link: &Link, name: &str, actor: &WireRef, is_taken: bool) {
    let Some((mine, _)) = link.numbers() else { return };
    let note = Note::Named { name: name.to_owned(), actor: actor.clone(), is_taken };
    // An error means that the association is over.
    let _over = link.send(mine, Frame::Note(bytes(&note).into()));
}
