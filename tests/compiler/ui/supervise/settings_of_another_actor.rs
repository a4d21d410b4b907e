//! A table that only its own actor can use.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = self.retries), on(_) = Restart)]
struct Shop {
    retries: u32,
}

#[actor]
impl Shop {}

#[actor]
#[supervise(table = Shop)]
struct Branch;

#[actor]
impl Branch {}

#[tokio::main]
async fn main() {
    let system = ActorSystem::new("town");
    system.spawn("branch", || Branch).unwrap();
}
