//! Slow code runs on tokio's threads, in tokio's words.

use supervise::prelude::*;

fn hash(password: &str) -> u64 {
    password.bytes().fold(7, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

#[actor]
struct Passwords {
    hashes: Vec<u64>,
}

#[actor]
impl Passwords {
    #[handler(sensitive)]
    fn add(&mut self, password: String, ctx: &mut Context<Self>) {
        ctx.spawn_blocking(move || hash(&password), |me, hash| me.hashed(hash));
    }

    #[handler]
    fn hashed(&mut self, hash: u64) {
        self.hashes.push(hash);
    }
}

#[actor]
struct Accounts {
    #[child(|_| || Passwords { hashes: Vec::new() })]
    passwords: Child<Passwords>,
}

#[actor]
impl Accounts {
    #[handler]
    async fn register(&self, password: String) -> Result<(), AskError> {
        self.passwords.actor().add(password).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("accounts");
    let accounts = system.spawn("accounts", || Accounts { passwords: Child::default() })?;
    accounts.register("secret".to_owned()).await?;
    system.terminate().await;
    Ok(())
}
