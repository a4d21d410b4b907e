//! The protocol is implemented by hand, for the actor and not for its ref.

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

#[actor]
impl Memory {
    #[handler]
    fn get(&self, key: String) -> Option<u64> {
        self.rows.get(&key).copied()
    }
}

#[async_trait]
impl Storage for Memory {
    async fn get(&self, key: String) -> Result<Option<u64>, AskError> {
        Ok(self.rows.get(&key).copied())
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
    let storage = StorageRef::from(memory);
    let shop = system.spawn("shop", move || Shop { storage: storage.clone() })?;
    println!("{:?}", shop.price("tea".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
