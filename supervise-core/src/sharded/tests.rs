//! Cases that no test from outside can bring about. In one, a node gives names right after it has spawned its
//! keeper, which may be anywhere in its start on another thread. In the other, a node cannot watch a keeper that
//! lives and has not let a key go.
//!
//! Rules 28.3 and 28.6.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::gate::Gate;
use super::keeper::{Keeper, KeeperMessage};
use super::region::Holder;
use super::route::release;
use super::{Sharded, region};
use crate::actor::{
    Actor, ActorRef, ActorSystem, Context, EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy, Supervisor,
};
use crate::failure::Failure;
use crate::remote::memory::Network;
use crate::remote::{Arguments, Node, Outgoing, RemoteActor, RemoteHandler, Undecodable, Unsendable};

/// A sharded actor, written by hand, because this crate does not have the macros.
struct Plain;

impl Supervisor for Plain {
    type Ref = ActorRef<Self>;
}

impl Actor for Plain {
    type Message = ();
}

impl RemoteActor for Plain {
    const NAME: &'static str = "Plain";
    const CONTRACT: &'static [RemoteHandler] = &[];

    fn encode((): (), _: &mut Outgoing) -> Result<(), Unsendable> {
        Err(Unsendable)
    }

    fn decode(_: &str, _: &mut Arguments<'_>) -> Result<(), Undecodable> {
        Err(Undecodable::UnknownMessage)
    }
}

impl<P> HandlersOfOneImplBlockDecidedBy<P> for Plain {}
impl<P> EscalationsDecidedBy<P> for Plain {}

/// Spawns the `Sharded`, and gives it no names.
struct Owner(Arc<OnceLock<Sharded<u32, Plain>>>);

impl Supervisor for Owner {
    type Ref = ActorRef<Self>;
}

impl Actor for Owner {
    type Message = ();

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let spawned = Sharded::of(|_: &u32| Plain).proxy().spawn(ctx, "plain").map_err(Failure::other)?;
        assert!(self.0.set(spawned).is_ok(), "it starts once");
        Ok(())
    }
}

async fn settle() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

/// A node whose keeper has settled and has no names yet.
async fn nameless(
    network: &Network,
    name: &str,
    limit: usize,
) -> (ActorSystem, Node, Sharded<u32, Plain>, ActorRef<Gate<u32, Plain>>) {
    let (system, spawned) = (ActorSystem::new(name), Arc::new(OnceLock::new()));
    let joins = Node::builder(&system).limit(limit).join(network.transport(&format!("{name}:1")));
    let node = joins.await.unwrap();
    let owner = Arc::clone(&spawned);
    system.spawn("owner", move || Owner(Arc::clone(&owner))).unwrap();
    settle().await;
    let gate = system.find("/user/owner/plain-gate").and_then(|gate| gate.downcast()).unwrap();
    let sharded = spawned.get().unwrap().clone();
    (system, node, sharded, gate)
}

#[tokio::test(start_paused = true)]
async fn a_keeper_that_has_settled_before_it_sees_its_names_does_not_take_them_back() {
    let (system, node, sharded, gate) = nameless(&Network::new(1), "here", 100).await;
    assert_eq!(sharded.nodes(), []);
    let entry = region::entry("plain");
    node.register(&entry, &gate).unwrap();
    node.register(&entry, &sharded.keeper).unwrap();
    // It gets this before the news of its names.
    let number = sharded.region.view().number;
    sharded.keeper.tell(KeeperMessage::Settled(number)).unwrap();
    settle().await;
    assert_eq!(sharded.nodes(), [node.id().clone()], "this node takes part");
    assert!(node.listing::<Keeper<u32, Plain>>(&entry).now().contains(&sharded.keeper));
    sharded.leave().await.unwrap();
    settle().await;
    assert_eq!(sharded.nodes(), []);
    assert_eq!(node.listing::<Keeper<u32, Plain>>(&entry).now(), [], "a node that has left keeps no name");
    system.terminate().await;
}

/// The key would have two actors.
#[tokio::test(start_paused = true)]
async fn a_keeper_that_cannot_be_watched_is_not_taken_for_one_that_has_ended() {
    let network = Network::new(1);
    let (there, there_node, at_there, gate) = nameless(&network, "there", 100).await;
    let entry = region::entry("plain");
    there_node.register(&entry, &gate).unwrap();
    there_node.register(&entry, &at_there.keeper).unwrap();
    let (here, here_node, sharded, _) = nameless(&network, "here", 4).await;
    settle().await;
    let far = here_node.listing::<Keeper<u32, Plain>>(&entry).now().remove(0);
    for _ in 0..4 {
        let (here, far) = (here.clone(), far.clone());
        tokio::spawn(async move { here.ended(&far).await });
    }
    settle().await;
    let (holder, handover) = (Holder::new(far), sharded.region.handover);
    let mut released = pin!(release(&sharded.region, &holder, &1));
    // The other node is the key's home, so it does not let the key go, and says so after this time.
    assert!(tokio::time::timeout(handover * 2, released.as_mut()).await.is_err(), "the key is not let go");
    there.terminate().await;
    tokio::time::timeout(Duration::from_secs(1), released).await.expect("its keeper has ended");
    here.terminate().await;
}
