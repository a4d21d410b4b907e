//! A message type of one's own is told to a ref, as in kameo and actix.

use supervise::prelude::*;

struct Deposit {
    cents: u64,
}

#[actor]
struct Account {
    cents: u64,
}

#[actor]
impl Account {
    #[handler]
    fn deposit(&mut self, cents: u64) -> u64 {
        self.cents += cents;
        self.cents
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("bank");
    let account = system.spawn("account", || Account { cents: 0 })?;
    account.tell(Deposit { cents: 100 })?;
    account.actor_ref().tell(Deposit { cents: 100 })?;
    system.terminate().await;
    Ok(())
}
