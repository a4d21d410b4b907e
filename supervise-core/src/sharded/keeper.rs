//! Follows the nodes that take part, and lets go of the keys that belong to other nodes.
//!
//! Rules 28.2 and 28.3.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::gate::{Gate, GateMessage};
use super::region::{Holder, Member, Region, View, entry, hash};
use super::route::Route;
use super::{ShardKey, WireName};
use crate::actor::{
    Actor, ActorRef, AskError, Context, EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy, ReplyTo, Request,
    Supervisor, TypedRef, WorkId,
};
use crate::base::{contained_async, drop_contained};
use crate::failure::Failure;
use crate::keyed::Children;
use crate::remote::{
    Arguments, Listing, Node, NodeId, Outgoing, RemoteActor, RemoteHandler, Undecodable, Unsendable, codec,
};

/// How long the keeper waits before it looks again whether an actor's parent has heard of its end.
const AGAIN: Duration = Duration::from_millis(1);

/// How many successors an actor that is let go may have.
const SUCCESSORS: usize = 3;

/// The actor that follows the nodes that take part. It ends after the actors of its node, because other nodes take a key over when
/// the keeper has ended.
pub(super) struct Keeper<K: ShardKey, A: RemoteActor> {
    region: Arc<Region<K, A>>,
    routes: Children<K, Route<K, A>>,
    node: Node,
    gate: ActorRef<Gate<K, A>>,
    /// Lets go of the keys that belong to other nodes in the current view, and asks the other nodes to do the same.
    settling: Vec<WorkId>,
    has_settled: bool,
    /// Nodes that ask whether this one has settled in the view of a fingerprint. Each asks for its latest view.
    asking: HashMap<String, (u64, ReplyTo<()>)>,
    /// The askers that wait until this node has left.
    leaving: Vec<ReplyTo<()>>,
}

/// The messages of a keeper.
pub(super) enum KeeperMessage<K: ShardKey, A: RemoteActor> {
    /// Let this key go, and reply when that is done.
    Release(K, ReplyTo<()>),
    /// Reply to this node when this one has let go of every key that belongs to another node in the view of this fingerprint.
    Settle(String, u64, ReplyTo<()>),
    /// Take this node out, and reply when it has let go of all keys.
    Leave(ReplyTo<()>),
    /// Names or nodes have changed.
    Look(Listing<Gate<K, A>>),
    /// This node has settled in the view of this number.
    Settled(u64),
    /// Another node has settled, or a key was let go.
    Noted,
    /// This node does not wait any longer before it leaves.
    Leaves,
}

impl<K: ShardKey, A: RemoteActor> Keeper<K, A> {
    pub(super) fn new(
        region: Arc<Region<K, A>>,
        routes: Children<K, Route<K, A>>,
        node: Node,
        gate: ActorRef<Gate<K, A>>,
    ) -> Self {
        Self {
            region,
            routes,
            node,
            gate,
            settling: Vec::new(),
            has_settled: false,
            asking: HashMap::new(),
            leaving: Vec::new(),
        }
    }

    /// Asks a keeper to let a key go.
    pub(super) async fn release(keeper: &ActorRef<Self>, key: K) -> Result<(), AskError> {
        let attach = |message: &mut KeeperMessage<K, A>, reply| {
            if let KeeperMessage::Release(_, to) = message {
                *to = reply;
            }
        };
        Request::new(keeper, KeeperMessage::Release(key, ReplyTo::nowhere()), attach).await
    }

    async fn settle_at(keeper: ActorRef<Self>, from: String, fingerprint: u64) -> Result<(), AskError> {
        let attach = |message: &mut KeeperMessage<K, A>, reply| {
            if let KeeperMessage::Settle(_, _, to) = message {
                *to = reply;
            }
        };
        Request::new(&keeper, KeeperMessage::Settle(from, fingerprint, ReplyTo::nowhere()), attach).await
    }

    /// The nodes that take part now, and those that do not but may still have actors: only their keepers have a name.
    fn nodes(&self, number: u64) -> View<K, A> {
        let name = entry(&self.region.name);
        let gates = self.node.listing::<Gate<K, A>>(&name).now();
        let keepers = self.node.listing::<Self>(&name).now();
        let (mut members, mut leaving) = (Vec::<Member<K, A>>::with_capacity(gates.len()), Vec::new());
        for keeper in keepers {
            let node = self.node_of(&keeper);
            let is_known = members.iter().any(|member| member.node == node);
            match gates.iter().find(|gate| self.node_of(gate) == node) {
                Some(gate) if !is_known => members.push(Member::new(node, gate.clone(), keeper)),
                None if !keeper.is_local() => leaving.push(Holder::new(keeper)),
                _ => {}
            }
        }
        members.sort_by(|one, other| one.node.cmp(&other.node));
        View::new(number, members, leaving)
    }

    fn node_of<B: Actor>(&self, actor: &ActorRef<B>) -> NodeId {
        let path = actor.path();
        path.address().map_or_else(|| self.node.id().clone(), |address| NodeId::new(path.system(), address))
    }

    fn look(&mut self, ctx: &mut Context<Self>) {
        let before = self.region.view();
        let now = self.nodes(before.number + 1);
        // An instance that has not settled begins with a view of its own.
        if now.is_same(&before) && !self.settling.is_empty() {
            return;
        }
        let view = Arc::new(now);
        self.region.publish(Arc::clone(&view));
        // The gate is a sibling: if it has ended, this actor ends as well.
        let _ending = self.gate.tell(GateMessage::Again);
        self.settle(&view, ctx);
    }

    /// Looks again when names or nodes have changed since the last look.
    fn follow(mut listing: Listing<Gate<K, A>>, ctx: &mut Context<Self>) {
        let changed = async move {
            listing.changed().await;
            listing
        };
        ctx.pipe(changed, |me: &ActorRef<Self>, listing| told(me, KeeperMessage::Look(listing)));
    }

    /// Lets go of the keys that belong to other nodes, and asks the other nodes to do the same.
    fn settle(&mut self, view: &Arc<View<K, A>>, ctx: &mut Context<Self>) {
        for earlier in self.settling.drain(..) {
            ctx.cancel_work(earlier);
        }
        self.has_settled = false;
        let number = view.number;
        let here = let_go(Arc::clone(&self.region), self.routes.clone(), Arc::clone(view));
        let settling = ctx.pipe(here, move |me: &ActorRef<Self>, ()| told(me, KeeperMessage::Settled(number)));
        self.settling.push(settling);
        let me = self.node.id().to_string();
        for (at, other) in view.others().enumerate() {
            let asked = Self::settle_at(other.keeper.clone(), me.clone(), view.fingerprint);
            let view = Arc::clone(view);
            let settles = async move {
                // After an error, the routes ask that node for each key.
                if asked.await.is_ok()
                    && let Some(other) = view.others().nth(at)
                {
                    other.settles();
                }
            };
            let settles = ctx.pipe(settles, |me: &ActorRef<Self>, ()| told(me, KeeperMessage::Noted));
            self.settling.push(settles);
        }
    }

    /// Answers the nodes that have waited for this one to settle.
    fn answer(&mut self, ctx: &mut Context<Self>) {
        if !self.has_settled {
            return;
        }
        let now = self.region.view();
        for (_, (_, reply)) in self.asking.extract_if(|_, (fingerprint, _)| *fingerprint == now.fingerprint) {
            reply.answer(());
        }
        // Nodes that died while they asked.
        self.asking.retain(|_, (_, reply)| !reply.is_abandoned());
        let others_know = now.unsettled().next().is_none();
        if self.region.is_leaving() && others_know && now.members.iter().all(|member| !member.is_here) {
            // Until now, the other nodes have waited for this one.
            self.node.unregister(&entry(&self.region.name), ctx.me().actor_ref());
            self.leaves(ctx);
        }
    }

    /// Other nodes no longer send to this node, or it does not wait any longer.
    fn leaves(&mut self, ctx: &mut Context<Self>) {
        let leaving = std::mem::take(&mut self.leaving);
        if leaving.is_empty() {
            return;
        }
        let (gate, limit) = (self.gate.clone(), self.region.handover);
        let drained = async move {
            // After an error, the gate holds nothing either.
            let _drained = tokio::time::timeout(limit, Gate::drained(gate)).await;
            for reply in leaving {
                reply.answer(());
            }
        };
        ctx.pipe(drained, |me: &ActorRef<Self>, ()| told(me, KeeperMessage::Noted));
    }
}

fn told<K: ShardKey, A: RemoteActor>(
    me: &ActorRef<Keeper<K, A>>,
    message: KeeperMessage<K, A>,
) -> Request<'_, Keeper<K, A>, ()> {
    Request::new(me, message, |_, _| {})
}

/// Lets go of every key that belongs to another node in a view. The routes end first, so nothing is sent to the actors after that.
async fn let_go<K: ShardKey, A: RemoteActor>(
    region: Arc<Region<K, A>>,
    routes: Children<K, Route<K, A>>,
    view: Arc<View<K, A>>,
) {
    for (_, route) in passivated(&routes, |key| !is_home_here(&view, key)) {
        region.system.ended(&route).await;
    }
    for (key, actor) in passivated(&region.actors, |key| !is_home_here(&view, key)) {
        gone(&region, &key, actor).await;
    }
}

fn is_home_here<K: ShardKey, A: RemoteActor>(view: &View<K, A>, key: &K) -> bool {
    hash(key).and_then(|hash| view.home(hash)).is_some_and(|home| home.is_here)
}

/// Passivates these children, and returns them.
fn passivated<K: ShardKey, C: Actor>(
    children: &Children<K, C>,
    which: impl Fn(&K) -> bool,
) -> Vec<(K, ActorRef<C>)> {
    let mut ending = Vec::new();
    children.for_each_occupant(|key, child| {
        if which(key) {
            children.passivate(key);
            ending.push((key.clone(), child));
        }
    });
    ending
}

/// Waits until an actor that was passivated has ended, and its successors too. It has one if it was being passivated already when
/// a message came, or if messages were in its stash (rule 18.3). If successors set messages aside again and again, the last of them loses
/// them. Returns whether the key has no actor here: `false` if this node has become its home again.
async fn gone<K: ShardKey, A: RemoteActor>(region: &Region<K, A>, key: &K, mut actor: ActorRef<A>) -> bool {
    let mut successors = 0;
    loop {
        region.system.ended(&actor).await;
        match region.actors.occupant(key) {
            None => return true,
            // Its parent has not heard of its end.
            Some(same) if same == actor => tokio::time::sleep(AGAIN).await,
            Some(_) if is_home_here(&region.view(), key) => return false,
            Some(successor) => {
                successors += 1;
                if successors < SUCCESSORS {
                    region.actors.passivate(key);
                } else {
                    region.actors.drain(key);
                }
                actor = successor;
            }
        }
    }
}

/// Lets one key go as soon as it belongs to another node.
async fn let_one_go<K: ShardKey, A: RemoteActor>(
    region: Arc<Region<K, A>>,
    routes: Children<K, Route<K, A>>,
    key: K,
    reply: ReplyTo<()>,
) {
    let Some(hash) = hash(&key) else { return };
    let mut views = region.views();
    let gone = async {
        while views.borrow_and_update().home(hash).is_some_and(|home| home.is_here) {
            if views.changed().await.is_err() {
                return;
            }
        }
        if let Some(route) = routes.occupant(&key) {
            routes.passivate(&key);
            region.system.ended(&route).await;
        }
        if let Some(actor) = region.actors.occupant(&key) {
            region.actors.passivate(&key);
            if !gone(&region, &key, actor).await {
                return;
            }
        }
        reply.answer(());
    };
    // The asker waits for the same time. If `reply` is dropped, the key has not been let go.
    let _given_up = tokio::time::timeout(region.handover, gone).await;
}

impl<K: ShardKey, A: RemoteActor> Supervisor for Keeper<K, A> {
    type Ref = ActorRef<Self>;
    /// Only `post_stop` waits here, and it comes to its end.
    const STOP_TIMEOUT: Duration = Duration::from_secs(3600);
}

impl<K: ShardKey, A: RemoteActor> Actor for Keeper<K, A> {
    type Message = KeeperMessage<K, A>;

    async fn handle(&mut self, message: KeeperMessage<K, A>, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            KeeperMessage::Look(listing) => {
                self.look(ctx);
                Self::follow(listing, ctx);
            }
            KeeperMessage::Settled(number) => {
                self.has_settled = number == self.region.view().number;
                self.answer(ctx);
            }
            KeeperMessage::Settle(from, fingerprint, reply) => {
                self.asking.insert(from, (fingerprint, reply));
                self.answer(ctx);
            }
            KeeperMessage::Release(key, reply) => {
                let gone = let_one_go(Arc::clone(&self.region), self.routes.clone(), key, reply);
                // A key may panic, for instance when it is compared.
                let gone = async { contained_async(gone).await.map_or_else(drop_contained, drop) };
                ctx.pipe(gone, |me: &ActorRef<Self>, ()| told(me, KeeperMessage::Noted));
            }
            KeeperMessage::Leave(reply) => {
                self.region.leave();
                self.node.unregister(&entry(&self.region.name), &self.gate);
                self.leaving.push(reply);
                let limit = tokio::time::sleep(self.region.handover);
                ctx.pipe(limit, |me: &ActorRef<Self>, ()| told(me, KeeperMessage::Leaves));
                self.look(ctx);
                self.answer(ctx);
            }
            KeeperMessage::Noted => self.answer(ctx),
            KeeperMessage::Leaves => self.leaves(ctx),
        }
        Ok(())
    }

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let listing = self.node.listing(entry(&self.region.name));
        self.look(ctx);
        Self::follow(listing, ctx);
        Ok(())
    }

    async fn post_stop(&mut self, _: &mut Context<Self>) -> Result<(), Failure> {
        self.region.actors.stopped().await;
        Ok(())
    }

    fn message_name(message: &KeeperMessage<K, A>) -> &'static str {
        match message {
            KeeperMessage::Release(..) => "release",
            KeeperMessage::Settle(..) => "settle",
            KeeperMessage::Leave(_) => "leave",
            KeeperMessage::Look(_) => "look",
            KeeperMessage::Settled(_) => "settled",
            KeeperMessage::Noted => "noted",
            KeeperMessage::Leaves => "leaves",
        }
    }
}

impl<K: ShardKey, A: RemoteActor> RemoteActor for Keeper<K, A> {
    const NAME: &'static str = const { &WireName::new("keeper of ", A::NAME) }.text();
    const CONTRACT: &'static [RemoteHandler] = &[
        RemoteHandler { name: "release", message: "release", arguments: &["key"] },
        RemoteHandler { name: "settle", message: "settle", arguments: &["from", "fingerprint"] },
    ];

    fn encode(message: KeeperMessage<K, A>, out: &mut Outgoing) -> Result<(), Unsendable> {
        match message {
            KeeperMessage::Release(key, reply) => {
                out.begin_for("release", reply, codec::<()>());
                out.argument(&key, codec::<K>())
            }
            KeeperMessage::Settle(from, fingerprint, reply) => {
                out.begin_for("settle", reply, codec::<()>());
                out.argument(&from, codec::<String>())?;
                out.argument(&fingerprint, codec::<u64>())
            }
            _ => Err(Unsendable),
        }
    }

    fn decode(handler: &str, arguments: &mut Arguments<'_>) -> Result<KeeperMessage<K, A>, Undecodable> {
        match handler {
            "release" => {
                Ok(KeeperMessage::Release(arguments.read(codec::<K>())?, arguments.reply_to(codec::<()>())))
            }
            "settle" => {
                let (from, fingerprint) = (arguments.read(codec::<String>())?, arguments.read(codec::<u64>())?);
                Ok(KeeperMessage::Settle(from, fingerprint, arguments.reply_to(codec::<()>())))
            }
            _ => Err(Undecodable::UnknownMessage),
        }
    }
}

impl<K: ShardKey, A: RemoteActor, P> HandlersOfOneImplBlockDecidedBy<P> for Keeper<K, A> {}
impl<K: ShardKey, A: RemoteActor, P> EscalationsDecidedBy<P> for Keeper<K, A> {}

impl<K: ShardKey, A: RemoteActor> fmt::Debug for Keeper<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("region", &self.region.name).finish_non_exhaustive()
    }
}
