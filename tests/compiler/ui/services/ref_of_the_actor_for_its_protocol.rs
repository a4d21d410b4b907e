//! The ref of an actor is passed where the ref of its protocol is wanted.

use std::collections::HashMap;

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Storage {
    async fn get(&self, key: String) -> Result<Option<u64>, AskError>;
}

#[actor]
struct Memory {
    rows: HashMap<String, u64>,
}

#[actor(implements(Storage))]
impl Memory {
    #[handler]
    fn get(&self, key: String) -> Option<u64> {
        self.rows.get(&key).copied()
    }
}

#[actor]
struct Shop {
    storage: StorageRef,
}

#[actor]
impl Shop {
    #[handler]
    async fn price(&self, item: String) -> Result<Option<u64>, AskError> {
        self.storage.get(item).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let memory = system.spawn("memory", || Memory { rows: HashMap::new() })?;
    let shop = system.spawn("shop", move || Shop { storage: memory.clone() })?;
    println!("{:?}", shop.price("tea".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
