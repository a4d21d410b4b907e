//! An actor's handlers stand in two modules, each with an `#[actor] impl` of its own.

use std::collections::HashMap;

use supervise::prelude::*;

#[actor]
pub struct Account {
    balance: i64,
    labels: HashMap<String, String>,
}

mod money {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("only {balance} left")]
    pub struct Overdrawn {
        pub balance: i64,
    }

    #[actor]
    impl Account {
        #[handler]
        pub fn withdraw(&mut self, amount: i64) -> Result<i64, Overdrawn> {
            if amount > self.balance {
                return Err(Overdrawn { balance: self.balance });
            }
            self.balance -= amount;
            Ok(self.balance)
        }
    }
}

mod labels {
    use super::*;

    #[actor]
    impl Account {
        #[handler]
        pub fn label(&mut self, key: String, value: String) -> Option<String> {
            self.labels.insert(key, value)
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("bank");
    let account = system.spawn("account", || Account { balance: 100, labels: HashMap::new() })?;
    println!("{}", account.withdraw(30).await?);
    account.label("colour".to_owned(), "green".to_owned()).await?;
    system.terminate().await;
    Ok(())
}
