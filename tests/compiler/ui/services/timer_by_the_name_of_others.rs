//! A message to oneself after a delay, in the words of Elixir and ractor.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the lease of {0} ran out")]
struct RanOut(String);

#[actor]
struct Lease {
    holder: String,
    renewed: bool,
}

#[actor]
impl Lease {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.send_after(Duration::from_secs(30), move || me.expire());
    }

    #[handler]
    fn renew(&mut self) {
        self.renewed = true;
    }

    #[handler]
    fn expire(&mut self) -> Result<(), RanOut> {
        if std::mem::take(&mut self.renewed) { Ok(()) } else { Err(RanOut(self.holder.clone())) }
    }
}

#[actor]
#[supervise(one_for_one, on(RanOut) = Stop)]
struct Leases;

#[actor]
impl Leases {
    #[handler]
    fn grant(&mut self, holder: String, ctx: &mut Context<Self>) -> Result<LeaseRef, SpawnError> {
        ctx.spawn(holder.clone(), move || Lease { holder: holder.clone(), renewed: false })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("locks");
    let lease = system.spawn("leases", || Leases)?.grant("ann".to_owned()).await?;
    lease.renew().await?;
    system.terminate().await;
    Ok(())
}
