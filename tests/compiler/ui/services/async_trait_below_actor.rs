//! `#[async_trait]` stands below `#[actor]`, as on actors of other frameworks.

use async_trait::async_trait;
use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("{0} has no mailbox")]
struct NoMailbox(String);

#[actor]
struct Mailer {
    sent: u64,
}

#[actor]
#[async_trait]
impl Mailer {
    #[handler]
    async fn send_to(&mut self, to: String) -> Result<u64, NoMailbox> {
        if to.is_empty() {
            return Err(NoMailbox(to));
        }
        self.sent += 1;
        Ok(self.sent)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(NoMailbox) = Resume)]
struct Post {
    #[child(|_| || Mailer { sent: 0 })]
    mailer: Child<Mailer>,
}

#[actor]
impl Post {
    #[handler]
    async fn welcome(&self, to: String) -> Result<u64, AskError> {
        self.mailer.actor().send_to(to).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("post");
    println!("{}", system.spawn("post", || Post { mailer: Child::default() })?.welcome("ann".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
