//! `pre_start` returns the state, as in ractor and `gen_server`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the seed {0} is too small")]
struct SmallSeed(u64);

#[actor]
struct Dice {
    state: u64,
}

#[actor]
impl Dice {
    #[pre_start]
    async fn init(&mut self, _ctx: &mut Context<Self>) -> Result<Self, SmallSeed> {
        if self.state < 10 {
            return Err(SmallSeed(self.state));
        }
        Ok(Dice { state: self.state.rotate_left(7) })
    }

    #[handler]
    fn throw(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.state % 6 + 1
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3), on(SmallSeed) = Stop)]
struct Table {
    #[child(|_| || Dice { state: 42 })]
    dice: Child<Dice>,
}

#[actor]
impl Table {
    #[handler]
    async fn play(&self) -> Result<u64, AskError> {
        Ok(self.dice.actor().throw().await? + self.dice.actor().throw().await?)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("casino");
    println!("{}", system.spawn("table", || Table { dice: Child::default() })?.play().await?);
    system.terminate().await;
    Ok(())
}
