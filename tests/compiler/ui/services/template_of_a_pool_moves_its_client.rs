//! The template of a pool gives its client to the first worker.

use supervise::pattern::Pool;
use supervise::prelude::*;

struct Client {
    url: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{0} does not answer")]
struct Unreachable(String);

#[actor]
struct Fetcher {
    client: Client,
}

#[actor]
impl Fetcher {
    #[handler]
    async fn fetch(&mut self, page: String) -> Result<usize, Unreachable> {
        if page.is_empty() {
            return Err(Unreachable(self.client.url.clone()));
        }
        Ok(page.len())
    }
}

#[supervise(one_for_one(max_retries = 10, within = "1m"), on(Unreachable) = Restart)]
struct Restarting;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("crawler");
    let client = Client { url: "https://example.org".to_owned() };
    let pool = Pool::round_robin(4, move || Fetcher { client }).supervised_by::<Restarting>();
    let fetchers = system.spawn_with("fetchers", pool.props())?;
    println!("{}", fetchers.fetch("index".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
