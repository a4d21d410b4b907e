//! A system with a store, while the feature is off.

use supervise::prelude::*;

struct Store;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::builder("shop").store(Store).start()?;
    system.terminate().await;
    Ok(())
}
