//! An instance is spawned, as kameo and xtra take one.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the cache is full")]
struct CacheFull;

#[actor]
struct Cache {
    keys: Vec<String>,
    capacity: usize,
}

impl Cache {
    fn new(capacity: usize) -> Self {
        Self { keys: Vec::new(), capacity }
    }
}

#[actor]
impl Cache {
    #[handler]
    fn put(&mut self, key: String) -> Result<usize, CacheFull> {
        if self.keys.len() == self.capacity {
            return Err(CacheFull);
        }
        self.keys.push(key);
        Ok(self.keys.len())
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(CacheFull) = Restart)]
struct Frontend {
    capacity: usize,
}

#[actor]
impl Frontend {
    #[handler]
    fn cache(&mut self, ctx: &mut Context<Self>) -> Result<CacheRef, SpawnError> {
        ctx.spawn("cache", Cache::new(self.capacity))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("web");
    let frontend = system.spawn("frontend", || Frontend { capacity: 100 })?;
    println!("{}", frontend.cache().await?.put("a".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
