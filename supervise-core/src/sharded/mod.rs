//! Sharded actors: one actor for each key in the whole mesh, on the node that the key belongs to (feature `remote`).
//!
//! ```text
//!   get(key) ──► route of the key, here ──┬── the key is at home here ──► actor of the key
//!                                         └── elsewhere ──► gate there ──► route of the key, there ──► actor of the key
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `region` | what the actors of one node share: the view of the nodes, and which of them is the home of a key |
//! | `route` | the way to one key: an actor that takes the messages of the sharded actor and passes them on |
//! | `gate` | receives what other nodes send to this one |
//! | `keeper` | follows the nodes, and lets keys go that belong to another node now |
//!
//! 1. Only the route of a key sends to the actor of that key. So when the view has changed and the route has ended, nothing more is sent
//!    to the actor.
//! 2. A route of a new view passes messages to the actor of its key only after every other node has let the key go, or was given up.
//!
//! Rules 28.1, 28.2, 28.3, 28.4, 28.5 and 28.6.

mod gate;
mod keeper;
mod region;
mod route;
#[cfg(all(test, feature = "testkit"))]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::gate::Gate;
use self::keeper::{Keeper, KeeperMessage};
use self::region::Region;
use self::route::Route;
use crate::actor::{
    Actor, ActorRef, AskError, Built, Context, DecidedBy, RefOf, Request, SpawnError, SupervisedBy,
};
use crate::keyed::{ChildKey, Children, ChildrenProps};
use crate::mailbox::MailboxKind;
use crate::remote::{NodeId, RegisterError, RemoteActor, Travels};

/// A key of a sharded actor: the key of a child that can travel to other nodes. It needs `Clone`, `Eq`, `Hash`, `Display`, `Serialize` and
/// `Deserialize`.
///
/// Keys that are equal must be written by `Serialize` in the same way on every node, because the bytes decide where a key belongs. As for
/// every [`ChildKey`], keys that are not equal must have different `Display` texts. A message for a key whose text belongs to
/// another key, or whose `Hash`, `Eq` or `Display` panics at its home, becomes a dead letter there.
pub trait ShardKey: ChildKey + Travels + Clone {}

impl<K: ChildKey + Travels + Clone> ShardKey for K {}

/// How long a node waits by default until another node has let a key go.
const HANDOVER: Duration = Duration::from_secs(10);

/// How long the way to a key stays without a message, if the actors have no idle time. Nothing else bounds the number of ways.
const ROUTE_IDLE: Duration = Duration::from_secs(600);

/// One actor for each key in the whole mesh.
///
/// Each node that takes part spawns a `Sharded` under the same name. Every key belongs to one of these nodes, its *home*. A ref from
/// [`get`](Self::get) reaches the actor of the key from any node, and the first message creates it at its home. There it is a child
/// of the actor that spawned the `Sharded`, and that actor's table decides its failures.
///
/// When a node comes or goes, some keys get another home. Messages wait there until the actor at the old home has handled what it
/// had and has ended
/// (rule [28.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-28.3)). The actor's state does not move: a key that moves begins with a new instance, as after passivation.
///
/// This is a handle: clone it, and pass it to other actors or to code outside the system. It belongs to one instance of the actor that spawned it:
/// when that actor restarts, it spawns a new `Sharded`, and the earlier handle and its refs have ended.
///
/// A node knows only itself until it has heard of the others, and starts actors for every key that it is asked for.
/// So after [`spawn`](ShardedProps::spawn), [wait for](Self::wait_for) the other nodes before you send, if there are some.
///
/// A key has one actor *per view*: while nodes cannot reach each other, each of them may have one
/// (rule [28.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-28.4)). Actors with a durable mailbox cannot be sharded.
pub struct Sharded<K: ShardKey, A: RemoteActor> {
    region: Arc<Region<K, A>>,
    routes: Children<K, Route<K, A>>,
    keeper: ActorRef<Keeper<K, A>>,
}

/// Why a [`Sharded`] could not be spawned.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// The system has not joined other nodes.
    #[error("the system `{system}` has not joined other nodes; await `Node::builder(&system).join(..)` first")]
    NotJoined {
        /// The name of the system.
        system: String,
    },
    /// This node has a `Sharded` of this name.
    #[error("this node already takes part in `{name}`")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// An actor could not be spawned.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The other nodes could not be told of this `Sharded`.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

crate::failure::debug_in_one_line!(ShardError);

impl<K: ShardKey, A: RemoteActor> Sharded<K, A> {
    /// Describes actors that `template` makes from their keys. The template runs on the actor's own turn, at the key's home, for the first instance
    /// and for each restart. All nodes should have the same template and the same settings.
    pub fn of<B>(template: impl Fn(&K) -> B + Send + Sync + 'static) -> ShardedProps<K, A, B::Cause>
    where
        B: Built<Actor = A>,
    {
        ShardedProps { actors: Children::of(template), idle: None, handover: HANDOVER, is_proxy: false }
    }

    /// A ref to the actor of this key, wherever its home is. Returns at once, from any thread. You can keep the ref: it still leads to the
    /// actor after the actor was passivated or has moved, or after its node was lost.
    ///
    /// The ref stands for the *way* to the actor. Watching or stopping it watches or stops the way on this node, not the actor. The way ends
    /// when it is idle. Refs on this node outlive that, but a ref that you have sent to another node does not: send the key, and
    /// let the other node call `get`.
    ///
    /// # Errors
    ///
    /// As [`Children::get_or_spawn`].
    ///
    /// # Panics
    ///
    /// As [`Children::get_or_spawn`].
    pub fn get(&self, key: K) -> Result<RefOf<A>, SpawnError> {
        Ok((*self.routes.get_or_spawn(key)?).clone())
    }

    /// The node to which this key belongs, as far as this node knows. `None` if no node takes part, or the key's `Serialize` fails.
    pub fn home(&self, key: &K) -> Option<NodeId> {
        self.region.view().home(region::hash(key)?).map(|member| member.node.clone())
    }

    /// The nodes that take part, as far as this node knows, in the order of their names.
    pub fn nodes(&self) -> Vec<NodeId> {
        self.region.view().members.iter().map(|member| member.node.clone()).collect()
    }

    /// Waits until `condition` holds of the nodes that take part, as far as this node knows.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn wait_for(&self, mut condition: impl FnMut(&[NodeId]) -> bool) {
        let mut views = self.region.views();
        loop {
            let view = Arc::clone(&views.borrow_and_update());
            let nodes: Vec<_> = view.members.iter().map(|member| member.node.clone()).collect();
            if condition(&nodes) {
                return;
            }
            // The sender lives as long as the region, which this holds.
            let _lives = views.changed().await;
        }
    }

    /// The actors at this node. Use this to count or list them, and [`get`](Self::get) to send messages: an actor that is made through this
    /// handle may be at the wrong node.
    pub fn here(&self) -> &Children<K, A> {
        &self.region.actors
    }

    /// Takes this node out, and waits until each of its actors has handled its messages and has ended. From then on, other nodes are
    /// the homes of its keys, and messages wait there in the meantime. Refs of this node continue to work. Call this before a planned shutdown, for
    /// example as a task of the [coordinated shutdown](crate::CoordinatedShutdown). Otherwise messages that wait at this node are lost, and their
    /// askers are told.
    ///
    /// Returns after twice the [handover time](ShardedProps::handover) at the latest, even if an actor has not ended by then;
    /// [`here`](Self::here) says how many there are. A node that has left takes part again when a new instance of the actor that spawned the
    /// `Sharded`, or another actor, spawns one.
    ///
    /// # Errors
    ///
    /// If the actor that spawned the `Sharded` has stopped, or is restarted in the meantime.
    ///
    /// # Cancel safety
    ///
    /// The first poll takes the node out. Dropping the future after that only ends the waiting.
    pub async fn leave(&self) -> Result<(), AskError> {
        let reply = |message: &mut KeeperMessage<K, A>, reply| {
            if let KeeperMessage::Leave(to) = message {
                *to = reply;
            }
        };
        Request::new(&self.keeper, KeeperMessage::Leave(crate::actor::ReplyTo::nowhere()), reply).await
    }
}

impl<K: ShardKey, A: RemoteActor> Clone for Sharded<K, A> {
    fn clone(&self) -> Self {
        Self { region: Arc::clone(&self.region), routes: self.routes.clone(), keeper: self.keeper.clone() }
    }
}

impl<K: ShardKey, A: RemoteActor> fmt::Debug for Sharded<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sharded({}, {} nodes)", self.region.name, self.region.view().members.len())
    }
}

/// The settings of a [`Sharded`] that has not been spawned yet. `E` stands for what its template can fail with.
#[must_use = "settings do nothing until they are spawned"]
pub struct ShardedProps<K: ShardKey, A: RemoteActor, E> {
    actors: ChildrenProps<K, A, E>,
    idle: Option<Duration>,
    handover: Duration,
    is_proxy: bool,
}

impl<K: ShardKey, A: RemoteActor, E> ShardedProps<K, A, E> {
    /// Passivates an actor that has handled no message for this time, see [`ChildrenProps::idle`]. The ways to actors are passivated
    /// after the same time, or after 10 minutes if this is not set.
    pub fn idle(mut self, after: Duration) -> Self {
        self.idle = Some(after);
        Self { actors: self.actors.idle(after), ..self }
    }

    /// Allows at most this many actors on this node, see [`ChildrenProps::limit`]. Messages for one more become dead letters with the reason
    /// [`TooManyChildren`](crate::DeadLetterReason::TooManyChildren). Their askers get [`AskError::TooManyChildren`], or
    /// [`AskError::MailboxFull`] if they ask from another node: the message was not handled, and a retry may help.
    pub fn limit(self, actors: usize) -> Self {
        Self { actors: self.actors.limit(actors), ..self }
    }

    /// Sets the kind of the actors' mailboxes. Messages wait on their way, too: there, in a mailbox as the actor's type declares it, on the
    /// sender's node and at the home. A way waits for room at the actor.
    ///
    /// # Panics
    ///
    /// If the mailbox is bounded and its capacity is 0.
    #[track_caller]
    pub fn mailbox(self, mailbox: MailboxKind) -> Self {
        Self { actors: self.actors.mailbox(mailbox), ..self }
    }

    /// Sets how long messages for a key that has moved here wait for another node to let the key go. After that time they do not wait for
    /// that node any more. The default is 10 seconds.
    pub fn handover(mut self, limit: Duration) -> Self {
        self.handover = limit;
        self
    }

    /// Makes this node send to the actors without being the home of any key.
    pub fn proxy(mut self) -> Self {
        self.is_proxy = true;
        self
    }

    /// Takes part on this node. The actors become children of this actor, which supervises them with the strategy and the table that
    /// its type declares. All nodes use the same `name`, and one name stands for one type of keys and one type of actors in the whole mesh.
    ///
    /// # Errors
    ///
    /// If this system has not joined other nodes, the name is invalid or taken, or this actor is stopping.
    pub fn spawn<P>(self, ctx: &mut Context<P>, name: impl AsRef<str>) -> Result<Sharded<K, A>, ShardError>
    where
        P: Actor,
        A: SupervisedBy<P>,
        E: DecidedBy<P>,
    {
        let name = name.as_ref();
        let Some(node) = ctx.node() else {
            return Err(ShardError::NotJoined { system: ctx.system().name().to_owned() });
        };
        let entry = region::entry(name);
        if node.listing::<Gate<K, A>>(&entry).now().iter().any(ActorRef::is_local) {
            return Err(ShardError::NameTaken { name: name.to_owned() });
        }
        let actors = self.actors.spawn(ctx, name)?;
        let region = Arc::new(Region::new(name, &node, actors, self.handover));
        let of_routes = Arc::clone(&region);
        let routes = Children::of(move |key: &K| Route::new(key.clone(), Arc::clone(&of_routes)));
        let routes = routes.idle(self.idle.unwrap_or(ROUTE_IDLE)).spawn(ctx, format!("{name}-routes"))?;
        let gate = {
            let (region, routes) = (Arc::clone(&region), routes.clone());
            ctx.spawn(format!("{name}-gate"), move || Gate::new(Arc::clone(&region), routes.clone()))?
        };
        let keeper = {
            let (region, routes, node, gate) = (Arc::clone(&region), routes.clone(), node.clone(), gate.clone());
            let keeper = move || Keeper::new(Arc::clone(&region), routes.clone(), node.clone(), gate.clone());
            ctx.spawn(format!("{name}-keeper"), keeper)?
        };
        if !self.is_proxy {
            node.register(&entry, &gate)?;
            node.register(&entry, &keeper)?;
        }
        Ok(Sharded { region, routes, keeper })
    }
}

impl<K: ShardKey, A: RemoteActor, E> fmt::Debug for ShardedProps<K, A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardedProps")
            .field("actors", &self.actors)
            .field("handover", &self.handover)
            .finish_non_exhaustive()
    }
}

/// The name on the wire of an actor of this module, which belongs to the sharded actor `of`.
struct WireName {
    text: [u8; 160],
    len: usize,
}

impl WireName {
    const fn new(prefix: &str, of: &str) -> Self {
        let (prefix, of) = (prefix.as_bytes(), of.as_bytes());
        let mut text = [0; 160];
        assert!(prefix.len() + of.len() <= text.len(), "the wire name of a sharded actor has at most 140 bytes");
        let mut at = 0;
        while at < prefix.len() {
            text[at] = prefix[at];
            at += 1;
        }
        while at < prefix.len() + of.len() {
            text[at] = of[at - prefix.len()];
            at += 1;
        }
        Self { text, len: at }
    }

    const fn text(&'static self) -> &'static str {
        let (text, _) = self.text.split_at(self.len);
        match str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        }
    }
}
