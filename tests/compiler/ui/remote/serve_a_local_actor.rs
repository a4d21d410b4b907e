use supervise::remote::{Node, NodeBuilder};
use supervise::{ActorSystem, actor};

#[actor]
struct Feed;

#[actor]
impl Feed {}

fn serve(system: &ActorSystem) -> NodeBuilder {
    Node::builder(system).serve::<Feed>()
}

async fn find(node: &Node) {
    let _feed = node.find::<Feed>("supervise://shop@10.0.0.7:7000/user/feed").await;
}

fn main() {}
