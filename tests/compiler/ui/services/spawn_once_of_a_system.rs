//! A child that cannot be rebuilt, spawned by the system.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {}

#[tokio::main]
async fn main() {
    let system = ActorSystem::new("demo");
    let feed = system.spawn_once("feed", Feed).unwrap();
    feed.actor_ref().stop();
}
