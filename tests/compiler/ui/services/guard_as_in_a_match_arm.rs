//! A guard is written as in a match arm, without a closure.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum HttpError {
    #[error("status {0}")]
    Status(u16),
    #[error("no answer")]
    Timeout,
}

#[actor]
struct Client {
    base: String,
}

#[actor]
impl Client {
    #[handler]
    async fn get(&mut self, path: String) -> Result<String, HttpError> {
        tokio::task::yield_now().await;
        match path.as_str() {
            "/slow" => Err(HttpError::Timeout),
            "/gone" => Err(HttpError::Status(410)),
            _ => Ok(format!("{}{path}", self.base)),
        }
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 3, within = "10s"),
    on(HttpError::Status(code) if *code < 500) = Resume,
    on(HttpError::Status(_)) = Restart,
    on(HttpError::Timeout) = Restart(backoff(min = "100ms", max = "5s")),
)]
struct Crawler {
    #[child(|_| || Client { base: "http://localhost".to_owned() })]
    client: Child<Client>,
}

#[actor]
impl Crawler {
    #[handler]
    async fn visit(&self, path: String) -> Option<String> {
        self.client.actor().get(path).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("crawler");
    let crawler = system.spawn("crawler", || Crawler { client: Child::default() })?;
    println!("{:?}", crawler.visit("/".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
