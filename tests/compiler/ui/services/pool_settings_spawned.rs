//! The settings of a pool and of a backoff supervisor are spawned like actors, or without `props()`.

use supervise::pattern::{BackoffSupervisor, Pool};
use supervise::prelude::*;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
#[error("{0} is not a page")]
struct NoPage(String);

#[actor]
struct Fetcher {
    pages: u64,
}

#[actor]
impl Fetcher {
    #[handler]
    fn fetch(&mut self, page: String) -> Result<u64, NoPage> {
        if page.is_empty() {
            return Err(NoPage(page));
        }
        self.pages += 1;
        Ok(self.pages)
    }
}

#[actor]
#[supervise(on(_) = Restart)]
struct Crawler;

#[actor]
impl Crawler {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("fetchers", || Pool::round_robin(4, || Fetcher { pages: 0 }))?;
        ctx.spawn_with("others", Pool::round_robin(4, || Fetcher { pages: 0 }))?;
        ctx.spawn("props", Pool::smallest_mailbox(4, || Fetcher { pages: 0 }).props())?;
        let backoff = supervise::Backoff::exponential(Duration::from_secs(1), Duration::from_secs(9));
        ctx.spawn_with("one", BackoffSupervisor::on_stop("one", || Fetcher { pages: 0 }, backoff))?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("web");
    system.spawn("crawler", || Crawler)?;
    system.terminate().await;
    Ok(())
}
