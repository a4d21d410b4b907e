//! The feature `signal` is off.

use std::time::Duration;

use supervise::prelude::*;

#[actor]
struct Heartbeat {
    beats: u64,
}

#[actor]
impl Heartbeat {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_periodic_timer("beat", Duration::from_secs(1), move || me.beat().into_message());
    }

    #[handler]
    fn beat(&mut self) -> u64 {
        self.beats += 1;
        self.beats
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "60s"), on(_) = Restart)]
struct Service;

#[actor]
impl Service {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("heartbeat", || Heartbeat { beats: 0 })?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("service");
    system.spawn("service", || Service)?;
    system.shutdown_on_signal()?;
    system.when_terminated().await?;
    Ok(())
}
