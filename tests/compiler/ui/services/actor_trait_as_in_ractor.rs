//! The `Actor` trait is written by hand, with ractor's types.

use supervise::prelude::*;

enum CounterCommand {
    Add(i64),
    Clear,
}

struct Counter;

impl Actor for Counter {
    type Msg = CounterCommand;
    type State = i64;
    type Arguments = i64;

    async fn pre_start(&self, _myself: ActorRef<Self>, start: i64) -> Result<i64, std::io::Error> {
        Ok(start)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self>,
        message: CounterCommand,
        state: &mut i64,
    ) -> Result<(), std::io::Error> {
        match message {
            CounterCommand::Add(number) => *state += number,
            CounterCommand::Clear => *state = 0,
        }
        Ok(())
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(std::io::Error) = Restart)]
struct Bank;

#[actor]
impl Bank {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("counter", || Counter)?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("bank");
    system.spawn("bank", || Bank)?.open().await?;
    system.terminate().await;
    Ok(())
}
