//! What is left when a peer or a system is gone, which no ref shows.

mod fuzz;
mod limits;
mod puppet;
mod refs;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use super::codec::{Arguments, Outgoing, RemoteHandler, Undecodable, Unsendable};
use super::memory::Network;
use super::{Node, RemoteActor};
use crate::actor::{Actor, ActorRef, ActorSystem, Context, Supervisor};
use crate::failure::Failure;

/// Watches the actor whose ref it is told. By hand, because there are no macros here.
struct Plain;

impl Supervisor for Plain {
    type Ref = ActorRef<Self>;
    const STASH_CAPACITY: usize = 0;
}

impl Actor for Plain {
    type Message = ActorRef<Self>;

    async fn handle(&mut self, other: ActorRef<Self>, ctx: &mut Context<Self>) -> Result<(), Failure> {
        ctx.watch_unchecked(&other.to_any());
        Ok(())
    }
}

impl RemoteActor for Plain {
    const NAME: &'static str = "Plain";
    const CONTRACT: &'static [RemoteHandler] = &[];

    fn encode(_: ActorRef<Self>, _: &mut Outgoing) -> Result<(), Unsendable> {
        Err(Unsendable)
    }

    fn decode(_: &str, _: &mut Arguments<'_>) -> Result<ActorRef<Self>, Undecodable> {
        Err(Undecodable::UnknownMessage)
    }
}

async fn place(network: &Network, name: &str) -> (ActorSystem, Node) {
    let system = ActorSystem::new(name);
    let joins = Node::builder(&system).serve::<Plain>().join(network.transport(&format!("{name}:1")));
    let node = joins.await.unwrap();
    (system, node)
}

async fn settle() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

async fn find(node: &Node, name: &str) -> ActorRef<Plain> {
    node.find::<Plain>(format!("supervise://{name}@{name}:1/user/plain")).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_gone_leaves_nothing_behind() {
    let network = Network::new(1);
    let ((here, here_node), (there, there_node)) = (place(&network, "here").await, place(&network, "there").await);
    let watcher = here.spawn("plain", || Plain).unwrap();
    let subject = there.spawn("plain", || Plain).unwrap();
    here_node.register("plain", &watcher).unwrap();
    watcher.tell(find(&here_node, "there").await).unwrap();
    settle().await;
    assert_eq!(subject.core().protocol().watchers().count(), 1);
    assert!(there_node.0.knows_names());
    network.kill("here:1");
    settle().await;
    assert_eq!(subject.core().protocol().watchers().count(), 0);
    assert_eq!(there_node.known_refs(), 0);
    assert!(!there_node.0.knows_names());
}

#[tokio::test(start_paused = true)]
async fn a_system_that_has_ended_leaves_no_cell_and_no_task_behind() {
    let network = Network::new(1);
    let ((here, here_node), (there, _there_node)) =
        (place(&network, "here").await, place(&network, "there").await);
    let watcher = here.spawn("plain", || Plain).unwrap();
    let _subject = there.spawn("plain", || Plain).unwrap();
    let far = find(&here_node, "there").await;
    watcher.tell(far.clone()).unwrap();
    settle().await;
    let (proxy, node, core) = (far.downgrade(), Arc::downgrade(&here_node.0), Arc::downgrade(here.core()));
    here.terminate().await;
    settle().await;
    assert!(far.has_ended());
    drop((far, watcher, here_node, here));
    settle().await;
    assert!(proxy.upgrade().is_none(), "the proxy is left");
    assert!(node.upgrade().is_none(), "the node is left");
    assert!(core.upgrade().is_none(), "the system is left");
    there.terminate().await;
}
