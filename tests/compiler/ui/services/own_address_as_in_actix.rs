//! An actor asks its context for its address, and runs something later, as in actix.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no answer from {0}")]
struct NoAnswer(String);

#[actor]
struct Pinger {
    host: String,
    pings: u32,
}

#[actor]
impl Pinger {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.address();
        ctx.start_timer("ping", Duration::from_secs(1), me.ping());
    }

    #[handler]
    fn ping(&mut self) -> Result<u32, NoAnswer> {
        self.pings += 1;
        if self.host.is_empty() { Err(NoAnswer(self.host.clone())) } else { Ok(self.pings) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(NoAnswer) = Restart)]
struct Observatory;

#[actor]
impl Observatory {
    #[handler]
    fn observe(&mut self, host: String, ctx: &mut Context<Self>) -> Result<PingerRef, SpawnError> {
        ctx.spawn(host.clone(), move || Pinger { host: host.clone(), pings: 0 })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("net");
    let observatory = system.spawn("observatory", || Observatory)?;
    println!("{}", observatory.observe("localhost".to_owned()).await?.ping().await?);
    system.terminate().await;
    Ok(())
}
