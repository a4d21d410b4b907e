//! A caller matches the handler's own error where an ask gives an `AskError`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum StoreError {
    #[error("no key {0}")]
    Missing(String),
    #[error("the store is locked")]
    Locked,
}

#[actor]
struct Store {
    locked: bool,
}

#[actor]
impl Store {
    #[handler]
    fn get(&self, key: String) -> Result<u64, StoreError> {
        if self.locked { Err(StoreError::Locked) } else { Err(StoreError::Missing(key)) }
    }
}

#[actor]
#[supervise(one_for_one, on(StoreError) = Resume)]
struct Cache {
    #[child(|_| || Store { locked: false })]
    store: Child<Store>,
}

#[actor]
impl Cache {
    #[handler]
    async fn lookup(&self, key: String) -> Option<u64> {
        match self.store.actor().get(key).await {
            Ok(value) => Some(value),
            Err(StoreError::Missing(_)) => Some(0),
            Err(StoreError::Locked) => None,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("cache");
    let cache = system.spawn("cache", || Cache { store: Child::default() })?;
    println!("{:?}", cache.lookup("a".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
