//! A message is built by hand and told to the actor's plain ref, as one does with Akka's commands.

use supervise::prelude::*;

#[actor]
struct Ledger {
    entries: Vec<(String, i64)>,
}

#[actor]
impl Ledger {
    #[handler]
    fn book(&mut self, account: String, cents: i64) -> usize {
        self.entries.push((account, cents));
        self.entries.len()
    }

    #[handler]
    fn balance(&self, account: String) -> i64 {
        self.entries.iter().filter(|(name, _)| *name == account).map(|(_, cents)| cents).sum()
    }
}

#[actor]
struct Importer {
    ledger: LedgerRef,
}

#[actor]
impl Importer {
    #[handler]
    async fn import(&mut self, lines: Vec<(String, i64)>) -> Result<i64, AskError> {
        for (account, cents) in lines {
            let command = LedgerMessage::Book { account, cents };
            if self.ledger.actor_ref().tell(command).is_err() {
                break;
            }
        }
        self.ledger.balance("cash".to_owned()).await
    }
}

#[tokio::main]
pub(super) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("books");
    let ledger = system.spawn("ledger", || Ledger { entries: Vec::new() })?;
    let importer = system.spawn("importer", move || Importer { ledger: ledger.clone() })?;
    println!("{}", importer.import(vec![("cash".to_owned(), 100)]).await?);
    system.terminate().await;
    Ok(())
}
