//! The strategy is written as Elixir's `Supervisor.init` takes it.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the bucket is empty")]
struct Empty;

#[actor]
struct Bucket {
    items: Vec<String>,
}

#[actor]
impl Bucket {
    #[handler]
    fn put(&mut self, item: String) {
        self.items.push(item);
    }

    #[handler]
    fn pop(&mut self) -> Result<String, Empty> {
        self.items.pop().ok_or(Empty)
    }
}

#[actor]
#[supervise(strategy = one_for_one, max_restarts = 3, max_seconds = 5, on(Empty) = Restart)]
struct Registry {
    #[child(|_| || Bucket { items: Vec::new() })]
    shopping: Child<Bucket>,
    #[child(|_| || Bucket { items: Vec::new() })]
    chores: Child<Bucket>,
}

#[actor]
impl Registry {
    #[handler]
    async fn remember(&self, item: String) -> Result<String, AskError> {
        let bucket = if item.starts_with("buy") { &self.shopping } else { &self.chores };
        bucket.actor().put(item).await?;
        bucket.actor().pop().await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("kv");
    let registry = || Registry { shopping: Child::default(), chores: Child::default() };
    println!("{}", system.spawn("registry", registry)?.remember("buy milk".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
