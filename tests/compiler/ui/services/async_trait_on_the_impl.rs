//! `#[async_trait]` above the impl block, as ractor and old kameo code have it.

use async_trait::async_trait;
use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the mail server said {0}")]
struct MailError(u16);

#[actor]
struct Mailer {
    sent: u32,
}

#[async_trait]
#[actor]
impl Mailer {
    #[handler]
    async fn send_to(&mut self, to: String, body: String) -> Result<u32, MailError> {
        tokio::task::yield_now().await;
        if !to.contains('@') || body.is_empty() {
            return Err(MailError(550));
        }
        self.sent += 1;
        Ok(self.sent)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "10s"), on(MailError) = Restart)]
struct Post {
    #[child(|_| || Mailer { sent: 0 })]
    mailer: Child<Mailer>,
}

#[actor]
impl Post {
    #[handler]
    async fn welcome(&self, to: String) -> Result<u32, AskError> {
        self.mailer.actor().send_to(to, "Welcome!".to_owned()).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("post");
    let post = system.spawn("post", || Post { mailer: Child::default() })?;
    println!("{}", post.welcome("ann@example.org".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
