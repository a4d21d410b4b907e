//! A handler takes a hand-made command by reference.

use supervise::prelude::*;

#[derive(Debug)]
enum Command {
    Add(i64),
    Clear,
}

#[derive(Debug, thiserror::Error)]
#[error("overflow")]
struct Overflow;

#[actor]
struct Counter {
    value: i64,
}

#[actor]
impl Counter {
    #[handler]
    async fn handle(&mut self, command: &Command) -> Result<i64, Overflow> {
        match command {
            Command::Add(number) => self.value = self.value.checked_add(*number).ok_or(Overflow)?,
            Command::Clear => self.value = 0,
        }
        Ok(self.value)
    }
}

#[actor]
#[supervise(one_for_one, on(Overflow) = Restart)]
struct Bank {
    #[child(|_| || Counter { value: 0 })]
    counter: Child<Counter>,
}

#[actor]
impl Bank {
    #[handler]
    async fn add(&self, number: i64) -> Result<i64, AskError> {
        let counter = self.counter.actor();
        counter.handle(&Command::Clear).await?;
        counter.handle(&Command::Add(number)).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("bank");
    println!("{}", system.spawn("bank", || Bank { counter: Child::default() })?.add(5).await?);
    system.terminate().await;
    Ok(())
}
