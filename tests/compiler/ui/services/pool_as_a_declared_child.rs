//! A pool stands in a `#[child]` field, where the workers' failures have no rule in the parent.

use supervise::pattern::Pool;
use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("{0} cannot be read")]
struct Unreadable(String);

#[actor]
struct Scaler {
    scaled: u64,
}

#[actor]
impl Scaler {
    #[handler]
    async fn scale(&mut self, image: String) -> Result<u64, Unreadable> {
        if image.is_empty() {
            return Err(Unreadable(image));
        }
        self.scaled += 1;
        Ok(self.scaled)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(Unreadable) = Restart)]
struct Gallery {
    #[child(|_| Pool::round_robin(4, || Scaler { scaled: 0 }).props())]
    scalers: Child<Pool<Scaler>>,
}

#[actor]
impl Gallery {
    #[handler]
    async fn add(&mut self, image: String) -> Result<u64, AskError> {
        self.scalers.actor().scale(image).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("gallery");
    println!("{}", system.spawn("gallery", || Gallery { scalers: Child::default() })?.add("a".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
