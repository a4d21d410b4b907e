//! A child runs a future, and its parent does not decide what the future fails with.

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
#[supervise(one_for_one(max_retries = 3, within = "1h"), on(std::io::Error) = Restart)]
struct Reader;

#[actor]
impl Reader {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn_task("poll", || poll("news".to_owned()))?;
        Ok(())
    }
}

fn main() {}
