//! An engine in memory, for tests (feature `testkit`): many systems in one process, on tokio's clock, which a test pauses.
//!
//! ```
//! # use supervise_core::{ActorSystem, remote::{Node, memory::Network}};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! let network = Network::new(7);
//! let (shop, desk) = (ActorSystem::new("shop"), ActorSystem::new("desk"));
//! let shop_node = Node::builder(&shop).join(network.transport("a:1")).await.expect("it is alone");
//! let desk_node = Node::builder(&desk).join(network.transport("b:1")).await.expect("nobody has the address");
//! # tokio::time::sleep(std::time::Duration::from_secs(1)).await;
//! assert_eq!(shop_node.peers(), [desk_node.id().clone()]);
//! # shop.terminate().await; desk.terminate().await;
//! # }
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::inbox::Inbox;
use super::transport::{BoxFuture, NodeId, Transport, TransportError};

/// A network in memory. Cheap to clone.
#[derive(Clone)]
pub struct Network(Arc<Shared>);

struct Shared {
    net: Mutex<Net>,
    news: Notify,
}

struct Net {
    random: fastrand::Rng,
    faults: Faults,
    nodes: HashMap<NodeId, (u64, Inbox)>,
    /// By the time of arrival, and in the order of sending.
    flying: BTreeMap<(Instant, u64), Flight>,
    sent: u64,
    /// The latest arrival between two nodes.
    latest: HashMap<(NodeId, NodeId), Instant>,
    /// Between these addresses nothing arrives now.
    cut: HashSet<(String, String)>,
    /// What waits for the end of a partition.
    held: Vec<Flight>,
    carries: bool,
}

struct Flight {
    from: NodeId,
    to: NodeId,
    packet: Vec<u8>,
}

/// What goes wrong on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Faults {
    /// The shortest and the longest delay.
    pub delay: (Duration, Duration),
    /// The share of packets that is lost, from 0 to 1.
    pub loss: f64,
    /// The share of packets that arrives twice.
    pub repetition: f64,
    /// The share of packets that does not keep its place.
    pub reordering: f64,
}

impl Default for Faults {
    /// A millisecond, and no fault.
    fn default() -> Self {
        let delay = Duration::from_millis(1);
        Self { delay: (delay, delay), loss: 0.0, repetition: 0.0, reordering: 0.0 }
    }
}

impl Network {
    /// A network without faults, whose chances follow from a seed.
    pub fn new(seed: u64) -> Self {
        let net = Net {
            random: fastrand::Rng::with_seed(seed),
            faults: Faults::default(),
            nodes: HashMap::new(),
            flying: BTreeMap::new(),
            sent: 0,
            latest: HashMap::new(),
            cut: HashSet::new(),
            held: Vec::new(),
            carries: false,
        };
        Self(Arc::new(Shared { net: Mutex::new(net), news: Notify::new() }))
    }

    /// The engine of the node at this address, such as `a:1`.
    pub fn transport(&self, address: &str) -> MemoryTransport {
        MemoryTransport { network: self.clone(), address: address.to_owned(), me: Mutex::new(None) }
    }

    /// From now on, this goes wrong.
    pub fn set_faults(&self, faults: Faults) {
        self.net().faults = faults;
    }

    /// Nothing arrives between two addresses, in both directions, until [`heal`](Self::heal). What is sent meanwhile arrives then.
    pub fn partition(&self, one: &str, other: &str) {
        self.partition_one_way(one, other);
        self.partition_one_way(other, one);
    }

    /// As [`partition`](Self::partition), in one direction.
    pub fn partition_one_way(&self, from: &str, to: &str) {
        self.net().cut.insert((from.to_owned(), to.to_owned()));
    }

    /// Ends all partitions.
    pub fn heal(&self) {
        let mut net = self.net();
        net.cut.clear();
        for flight in std::mem::take(&mut net.held) {
            net.fly(flight);
        }
        drop(net);
        self.0.news.notify_one();
    }

    /// Forgets what waits for the end of a partition.
    pub fn lose_held(&self) {
        self.net().held.clear();
    }

    /// The process at this address is gone, as after SIGKILL: nothing leaves or reaches it any more, and its peers hear of that.
    pub fn kill(&self, address: &str) {
        let mut net = self.net();
        net.flying.retain(|_, flight| flight.from.address() != address && flight.to.address() != address);
        let dead: Vec<NodeId> = net.nodes.keys().filter(|node| node.address() == address).cloned().collect();
        for node in &dead {
            net.leaves(node);
        }
    }

    fn net(&self) -> MutexGuard<'_, Net> {
        self.0.net.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers packets at their time, as long as there are nodes.
    async fn carry(self) {
        loop {
            let next = {
                let mut net = self.net();
                if net.nodes.is_empty() {
                    net.carries = false;
                    return;
                }
                let due = net.flying.first_key_value().map(|(key, _)| key.0);
                if due.is_some_and(|due| due <= Instant::now()) {
                    if let Some((_, flight)) = net.flying.pop_first() {
                        net.arrive(flight);
                    }
                    continue;
                }
                due
            };
            let news = self.0.news.notified();
            match next {
                Some(due) => drop(tokio::time::timeout_at(due, news).await),
                None => news.await,
            }
        }
    }
}

impl Net {
    fn fly(&mut self, flight: Flight) {
        let Faults { delay, loss, repetition, reordering } = self.faults.clone();
        if self.random.f64() < loss {
            return;
        }
        let times = if self.random.f64() < repetition { 2 } else { 1 };
        for _ in 0..times {
            let span = delay.1.saturating_sub(delay.0);
            let mut due = Instant::now() + delay.0 + span.mul_f64(self.random.f64());
            let latest = self.latest.entry((flight.from.clone(), flight.to.clone())).or_insert(due);
            if self.random.f64() >= reordering {
                due = due.max(*latest);
                *latest = due;
            } else {
                due += delay.1 * 2;
            }
            self.sent += 1;
            let copy = Flight { from: flight.from.clone(), to: flight.to.clone(), packet: flight.packet.clone() };
            self.flying.insert((due, self.sent), copy);
        }
    }

    fn arrive(&mut self, flight: Flight) {
        let way = (flight.from.address().to_owned(), flight.to.address().to_owned());
        if self.cut.contains(&way) {
            self.held.push(flight);
        } else if let Some((_, inbox)) = self.nodes.get(&flight.to) {
            inbox.packet(flight.from, flight.packet);
        }
    }

    fn leaves(&mut self, node: &NodeId) {
        if let Some((incarnation, _)) = self.nodes.remove(node) {
            for (_, inbox) in self.nodes.values() {
                inbox.vanished(node.clone(), incarnation);
            }
        }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

/// The engine of one node of a [`Network`].
pub struct MemoryTransport {
    network: Network,
    address: String,
    me: Mutex<Option<NodeId>>,
}

impl MemoryTransport {
    fn me(&self) -> Option<NodeId> {
        self.me.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for MemoryTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTransport").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Transport for MemoryTransport {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn open(&self, me: &NodeId, incarnation: u64, inbox: Inbox) -> BoxFuture<'_, Result<(), TransportError>> {
        let me = me.clone();
        Box::pin(async move {
            *self.me.lock().unwrap_or_else(PoisonError::into_inner) = Some(me.clone());
            let mut net = self.network.net();
            if net.nodes.contains_key(&me) {
                return Err(TransportError(format!("{me} is taken")));
            }
            for (peer, (theirs, other)) in &net.nodes {
                other.appeared(me.clone(), incarnation);
                inbox.appeared(peer.clone(), *theirs);
            }
            net.nodes.insert(me, (incarnation, inbox));
            if !std::mem::replace(&mut net.carries, true) {
                tokio::spawn(self.network.clone().carry());
            }
            Ok(())
        })
    }

    fn send(&self, to: &NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        let Some(from) = self.me() else { return Err(packet) };
        let mut net = self.network.net();
        // A process that was killed sends nothing.
        if net.nodes.contains_key(&from) {
            net.fly(Flight { from, to: to.clone(), packet });
        }
        drop(net);
        self.network.0.news.notify_one();
        Ok(())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(me) = self.me() {
                // What it has sent arrives first.
                let (_, longest) = self.network.net().faults.delay;
                tokio::time::sleep(longest * 2).await;
                self.network.net().leaves(&me);
                self.network.0.news.notify_one();
            }
        })
    }
}
