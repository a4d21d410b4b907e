//! A field holds an `ActorRef<Clock>`, as ractor and kameo call their refs.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the clock has stopped")]
struct ClockStopped;

#[actor]
struct Clock {
    seconds: u64,
}

#[actor]
impl Clock {
    #[handler]
    fn tick(&mut self) -> Result<u64, ClockStopped> {
        self.seconds += 1;
        if self.seconds == 60 { Err(ClockStopped) } else { Ok(self.seconds) }
    }
}

#[actor]
struct Tower {
    clock: ActorRef<Clock>,
}

#[actor]
impl Tower {
    #[handler]
    async fn strike(&mut self) -> Result<String, AskError> {
        let seconds = self.clock.tick().await?;
        Ok("dong ".repeat(seconds as usize))
    }
}

#[actor]
#[supervise(one_for_one, on(ClockStopped | AskError) = Restart)]
struct Town;

#[actor]
impl Town {
    #[handler]
    fn build(&mut self, ctx: &mut Context<Self>) -> Result<TowerRef, SpawnError> {
        let clock = ctx.spawn("clock", || Clock { seconds: 0 })?;
        ctx.spawn("tower", move || Tower { clock: clock.clone() })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("town");
    println!("{}", system.spawn("town", || Town)?.build().await?.strike().await?);
    system.terminate().await;
    Ok(())
}
