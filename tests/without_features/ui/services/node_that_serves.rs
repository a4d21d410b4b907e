//! A node that serves actors to other machines, while the feature is off.

use supervise::prelude::*;
use supervise::remote::Node;
use supervise::sharded::Sharded;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let _ = Node::builder(&system);
    let _ = size_of::<Sharded<String, ()>>();
    system.terminate().await;
    Ok(())
}
