//! A guard looks at the supervisor's own state.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the charge was refused after {after:?}")]
struct ChargeError {
    after: Duration,
}

#[actor]
struct Terminal {
    slow: bool,
}

#[actor]
impl Terminal {
    #[handler]
    fn charge(&mut self, cents: u64) -> Result<u64, ChargeError> {
        if self.slow { Err(ChargeError { after: Duration::from_secs(3) }) } else { Ok(cents) }
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 3),
    on(ChargeError if |error| error.after < self.patience) = Resume,
    on(ChargeError) = Restart,
)]
struct Till {
    patience: Duration,
    #[child(|_| || Terminal { slow: false })]
    terminal: Child<Terminal>,
}

#[actor]
impl Till {
    #[handler]
    async fn pay(&mut self, cents: u64) -> Result<u64, AskError> {
        self.terminal.actor().charge(cents).timeout(self.patience).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let till = || Till { patience: Duration::from_secs(1), terminal: Child::default() };
    println!("{}", system.spawn("till", till)?.pay(250).await?);
    system.terminate().await;
    Ok(())
}
