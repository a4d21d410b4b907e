//! An `.await` stands in a factory, which is not an `async` closure.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the token was refused")]
struct Refused;

async fn fetch_token(user: &str) -> Result<String, Refused> {
    tokio::time::sleep(Duration::from_millis(10)).await;
    if user.is_empty() { Err(Refused) } else { Ok(format!("token of {user}")) }
}

#[actor]
struct Feed {
    token: String,
}

#[actor]
impl Feed {
    #[handler]
    fn token(&self) -> String {
        self.token.clone()
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(Refused) = Restart, on(_) = Escalate)]
struct Reader {
    #[child(|_| || Feed { token: fetch_token("ann").await.unwrap_or_default() })]
    feed: Child<Feed>,
}

#[actor]
impl Reader {
    #[handler]
    async fn token(&self) -> Result<String, AskError> {
        self.feed.actor().token().await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("news");
    let reader = system.spawn("reader", || Reader { feed: Child::default() })?;
    println!("{}", reader.token().await?);
    system.terminate().await;
    Ok(())
}
