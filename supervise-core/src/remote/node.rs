//! A system that has joined others: who its peers are, what they may reach, and the task that hears the engine and the clock.
//!
//! Rules 26.3 and 26.10.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Notify, watch};

use super::association::{Association, Greeting, Input, Settings, VERSIONS};
use super::codec::{Pending, answered};
use super::inbound;
use super::link::{Link, Work};
use super::names::Names;
use super::remote_actor::{Nobody, RemoteActor, RemoteType};
use super::transport::{Heard, Inbox, NodeId, Transport, TransportError};
use super::wire::{Find, Found, WireRef, bytes, decode};
use crate::actor::{Actor, ActorSystem, AnyActorRef, AnyCell, Context, Core, RefOf, ReplyTo, dispatch};
use crate::base::{ActorPath, InvalidPath};
use crate::observe::Event;

/// A system that has joined others. Cheap to clone. It leaves when its system ends.
#[derive(Clone)]
pub struct Node(pub(super) Arc<NodeCore>);

/// What a node is.
pub(crate) struct NodeCore {
    system: ActorSystem,
    me: NodeId,
    incarnation: u64,
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
    /// Changes with each association, verdict and name.
    news: watch::Sender<u64>,
    left: watch::Sender<bool>,
}

#[derive(Clone)]
struct Limits {
    association: Settings,
    message: usize,
    refs: usize,
    find: Duration,
}

/// The actors here whose refs were handed out, by their uid.
#[derive(Default)]
struct Exports {
    actors: HashMap<u64, Export>,
    sweep_at: usize,
}

struct Export {
    actor: Weak<dyn AnyCell>,
    /// `None`: it was named as a watcher only.
    kind: Option<RemoteType>,
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
#[derive(Debug, Clone, thiserror::Error)]
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

/// Why no actor was found on another node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The path is not one with an address: `supervise://system@host:port/user/name`.
    #[error("{0}")]
    Path(InvalidPath),
    /// The path has no address, and no actor here has it.
    #[error("`{0}` has no address: write `supervise://system@host:port/user/name`")]
    NoAddress(String),
    /// No such node has been heard of in time.
    #[error("there is no node `{0}`")]
    NoNode(String),
    /// The node has no such actor.
    #[error("there is no actor at `{0}`")]
    NotFound(String),
    /// The actor has another type.
    #[error("the actor is a `{is}`")]
    OtherType {
        /// The name of its type there.
        is: String,
    },
    /// The node does not serve actors of this type.
    #[error("the node does not serve `{0}`")]
    NotServed(String),
    /// The node did not answer in time.
    #[error("the node did not answer in time")]
    Timeout,
}

impl NodeBuilder {
    /// Lets peers find actors of this type by their paths. Nothing else is found, and only messages of served types and of those whose
    /// refs were handed out are ever read.
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

    /// Sets how long a peer may be silent before it is given up. The default is 10 seconds.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.limits.association.patience = patience;
        let beat = self.limits.association.heartbeat.min(patience / 4);
        self.limits.association.heartbeat = beat;
        self
    }

    /// Sets how large a message and an answer may be, in bytes. The default is 1 MiB. Peers should have the same.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.limits.message = bytes;
        self
    }

    /// Sets how many bytes may be under way to a peer. The default is 1 MiB. Peers should have the same.
    pub fn window(mut self, bytes: u64) -> Self {
        self.limits.association.window = bytes.max(1);
        self
    }

    /// Sets how many actors of one peer this node may know, how many asks of a peer may be under way, and how many watches it may have. A
    /// peer that wants more is given up. The default is 65 536.
    pub fn limit(mut self, each: usize) -> Self {
        self.limits.refs = each;
        self.limits.association.asks = each;
        self.limits.association.watches = each;
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
    pub async fn join(self, transport: impl Transport) -> Result<Node, JoinError> {
        let Self { system, served, mesh, is_untrusted, limits } = self;
        let me = NodeId::new(system.name(), &transport.address());
        let (inbox, heard) = unbounded_channel();
        let core = Arc::new(NodeCore {
            me,
            incarnation: fastrand::u64(1..),
            mesh,
            limits,
            is_untrusted,
            transport: Box::new(transport),
            links: Mutex::default(),
            served,
            exports: Mutex::default(),
            names: Mutex::default(),
            nudge: Notify::new(),
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
        let forget = || joined.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (me, incarnation) = (core.me.clone(), core.incarnation);
        if let Err(error) = core.transport.open(&me, incarnation, Inbox(inbox)).await {
            drop(forget());
            return Err(JoinError::Transport(error));
        }
        dispatch::start(system.core(), drive(Arc::clone(&core), heard));
        let leaves = Arc::clone(&core);
        if system.on_termination(async move { leaves.leave().await }).is_err() {
            drop(forget());
            core.leave().await;
            return Err(JoinError::Ended(system.name().to_owned()));
        }
        Ok(Node(core))
    }
}

impl fmt::Debug for NodeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBuilder").field("system", &self.system).finish_non_exhaustive()
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

    pub(super) fn core_of(core: &Core) -> Option<Arc<NodeCore>> {
        ActorSystem::of(core).node().map(|node| node.0)
    }

    /// The actor at a path of another node, `supervise://system@host:port/user/name`, or of this one. Waits for the node to appear.
    ///
    /// # Errors
    ///
    /// If there is no such node or actor, or the actor is not an `A`, or its node does not serve the type.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn find<A: RemoteActor>(&self, path: impl AsRef<str>) -> Result<RefOf<A>, FindError> {
        let text = path.as_ref();
        let parsed: ActorPath = text.split('#').next().unwrap_or(text).parse().map_err(FindError::Path)?;
        let Some(address) = parsed.address() else { return Err(FindError::NoAddress(text.to_owned())) };
        let peer = format!("{}@{address}", parsed.system());
        let find = Find { path: parsed.local().to_owned(), actor: A::NAME.to_owned() };
        if peer == **self.0.me.text() {
            return self.read::<A>(text, self.0.found_here(&find));
        }
        let limit = self.0.limits.find;
        let answer = async {
            loop {
                let mut news = self.0.news.subscribe();
                if let Some(link) = self.0.link_of(&peer)
                    && let Some((mine, _)) = link.numbers()
                {
                    let (reply, answer) = ReplyTo::<Found>::asked();
                    if let Some(slot) = reply.erase()
                        && link.ask(mine, 0, bytes(&find), Pending::new(slot, answered::<Found>)).is_ok()
                    {
                        link.flush();
                        // A verdict in between: the next association may come in time.
                        if let Ok(found) = answer.await {
                            return self.read::<A>(text, found);
                        }
                    }
                }
                let _closed = news.changed().await;
            }
        };
        match tokio::time::timeout(limit, answer).await {
            Ok(found) => found,
            Err(_) if self.0.link_of(&peer).is_some_and(|link| link.numbers().is_some()) => {
                Err(FindError::Timeout)
            }
            Err(_) => Err(FindError::NoNode(peer)),
        }
    }

    fn read<A: RemoteActor>(&self, path: &str, found: Found) -> Result<RefOf<A>, FindError> {
        match found {
            Found::Actor(wire) => Ok(RefOf::<A>::from(self.0.read_ref::<A>(&wire))),
            Found::Nobody => Err(FindError::NotFound(path.to_owned())),
            Found::OtherType(is) => Err(FindError::OtherType { is }),
            Found::NotServed => Err(FindError::NotServed(A::NAME.to_owned())),
        }
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

    pub(super) fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// Whether peers may do little here.
    pub(super) fn is_untrusted(&self) -> bool {
        self.is_untrusted
    }

    pub(super) fn max_message(&self) -> usize {
        self.limits.message
    }

    pub(super) fn max_refs(&self) -> usize {
        self.limits.refs
    }

    pub(super) fn now(&self) -> Duration {
        self.system.uptime()
    }

    pub(super) fn publish(&self, event: Event) {
        self.system.core().observer().node(event);
    }

    /// Who waits for an association or a name looks again.
    pub(super) fn news(&self) {
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// The task of the node looks at its deadlines again.
    pub(super) fn nudge(&self) {
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

    fn heard(self: &Arc<Self>, heard: Heard) {
        match heard {
            Heard::Appeared(peer, incarnation) => self.link(&peer).step(Input::Appeared(incarnation)),
            Heard::Vanished(peer, incarnation) => self.link(&peer).step(Input::Vanished(incarnation)),
            Heard::Packet(peer, packet) => {
                // Noise is ignored: if a packet is missing, the next one tells.
                if let Some(packet) = decode(&packet) {
                    self.link(&peer).step(Input::Received(packet));
                }
            }
        }
    }

    fn deadline(&self) -> Option<Duration> {
        self.links().values().filter_map(|link| link.deadline()).min()
    }

    // ---- actors here -------------------------------------------------------------------------------------------------

    fn exports(&self) -> MutexGuard<'_, Exports> {
        self.exports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A ref to this actor is handed out.
    pub(super) fn export(&self, actor: &AnyActorRef, kind: Option<RemoteType>) {
        let uid = u64::from(actor.uid());
        let mut exports = self.exports();
        if let Some(known) = exports.actors.get_mut(&uid) {
            known.kind = known.kind.or(kind);
            return;
        }
        if exports.actors.len() >= exports.sweep_at.max(64) {
            exports.actors.retain(|_, export| export.actor.strong_count() > 0);
            exports.sweep_at = exports.actors.len() * 2;
        }
        exports.actors.insert(uid, Export { actor: Arc::downgrade(&actor.0), kind });
    }

    /// The actor of this uid, if a ref to it was handed out and something still holds its cell.
    pub(super) fn exported(&self, uid: u64) -> Option<AnyActorRef> {
        let found = self.exports().actors.get(&uid)?.actor.upgrade();
        found.map(AnyActorRef)
    }

    /// As [`exported`](Self::exported), with the type whose messages it takes.
    pub(super) fn reached(&self, uid: u64) -> Option<(AnyActorRef, Option<RemoteType>)> {
        let exports = self.exports();
        let export = exports.actors.get(&uid)?;
        let (found, kind) = (export.actor.upgrade(), export.kind);
        drop(exports);
        Some((AnyActorRef(found?), kind))
    }

    /// The name on the wire of the actor's type, or nothing.
    pub(super) fn name_of(&self, actor: &AnyActorRef) -> &'static str {
        let known = self.exports().actors.get(&u64::from(actor.uid())).and_then(|export| export.kind);
        let served = || self.served.values().find(|kind| (kind.reaches)(actor)).copied();
        known.or_else(served).map_or("", |kind| kind.name)
    }

    /// The proxy through which a watcher of a peer's is told.
    pub(super) fn watcher_proxy(
        &self,
        link: &Arc<Link>,
        mine: u64,
        watcher: u64,
        wire: &WireRef,
    ) -> Option<AnyActorRef> {
        if let Some(typed) = link.typed(watcher) {
            return Some(typed);
        }
        match self.served.get(&*wire.actor) {
            Some(kind) => (kind.proxy)(link, mine, watcher, &wire.path),
            None => link.proxy::<Nobody>(mine, watcher, &wire.path).map(|proxy| proxy.to_any()),
        }
    }

    /// What a peer that looks for an actor finds.
    pub(super) fn found(&self, find: &Find) -> Found {
        let found = self.found_here(find);
        match &found {
            Found::Actor(wire) if self.is_untrusted && !self.has_name(wire.uid) => Found::Nobody,
            Found::OtherType(_) if self.is_untrusted => Found::Nobody,
            _ => found,
        }
    }

    /// What this node itself finds.
    fn found_here(&self, find: &Find) -> Found {
        let Some(kind) = self.served.get(&*find.actor) else { return Found::NotServed };
        let Some(actor) = self.system.find(&find.path) else { return Found::Nobody };
        if !(kind.reaches)(&actor) {
            return Found::OtherType(actor.core().description().type_name().to_owned());
        }
        self.export(&actor, Some(*kind));
        Found::Actor(WireRef {
            node: self.me.to_string(),
            incarnation: self.incarnation,
            uid: actor.uid().into(),
            path: actor.path().local().to_owned(),
            actor: kind.name.to_owned(),
        })
    }

    // ---- the end -----------------------------------------------------------------------------------------------------

    /// Sends what waits, for two seconds at most, says goodbye and closes the engine.
    async fn leave(self: &Arc<Self>) {
        const FLUSH: Duration = Duration::from_secs(2);
        let deadline = self.now() + FLUSH;
        loop {
            let links = self.all_links();
            for link in &links {
                link.flush();
            }
            if links.iter().all(|link| link.is_idle()) || self.now() >= deadline {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.left.send_replace(true);
        for link in self.all_links() {
            link.step(Input::Leave);
            link.pump();
            link.put(Work::Close);
        }
        self.transport.close().await;
    }

    /// No task of the system runs any more.
    fn shut(&self) {
        self.left.send_replace(true);
        let links: Vec<_> = self.links().drain().map(|(_, link)| link).collect();
        for link in links {
            link.shut();
        }
    }
}

/// The task of a node: hears the engine and the clock.
async fn drive(node: Arc<NodeCore>, mut heard: UnboundedReceiver<Heard>) {
    enum Next {
        Heard(Option<Heard>),
        Tick,
        Again,
    }
    let mut left = node.left.subscribe();
    while !*left.borrow_and_update() {
        let pause = node.deadline().map(|deadline| deadline.saturating_sub(node.now()));
        let next = {
            let mut sleep = pin!(async {
                match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => pending().await,
                }
            });
            let (mut nudged, mut leaves) = (pin!(node.nudge.notified()), pin!(left.changed()));
            poll_fn(|cx| {
                if let Poll::Ready(next) = heard.poll_recv(cx) {
                    return Poll::Ready(Next::Heard(next));
                }
                if sleep.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Next::Tick);
                }
                if nudged.as_mut().poll(cx).is_ready() || leaves.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Next::Again);
                }
                Poll::Pending
            })
            .await
        };
        match next {
            Next::Heard(Some(one)) => node.heard(one),
            Next::Heard(None) => return,
            Next::Tick => {
                for link in node.all_links() {
                    link.tick();
                }
            }
            Next::Again => {}
        }
    }
}
