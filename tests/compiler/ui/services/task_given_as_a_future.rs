//! A child that polls is spawned as a future, as with `tokio::spawn`, and cannot begin again.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the feed {0} is gone")]
struct FeedGone(String);

async fn poll(feed: String) -> Result<(), FeedGone> {
    loop {
        tokio::time::sleep(Duration::from_secs(60)).await;
        if feed.is_empty() {
            return Err(FeedGone(feed));
        }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1h"), on(FeedGone) = Restart)]
struct Reader {
    feeds: Vec<String>,
}

#[actor]
impl Reader {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        for (number, feed) in self.feeds.iter().enumerate() {
            ctx.spawn_task(format!("poll-{number}"), poll(feed.clone()))?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("news");
    system.spawn("reader", || Reader { feeds: vec!["a".to_owned()] })?;
    system.terminate().await;
    Ok(())
}
