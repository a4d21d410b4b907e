//! The limit is a constant of the program.

use supervise::prelude::*;

const MAX_RETRIES: u32 = 5;

#[derive(Debug, thiserror::Error)]
#[error("the lease of {0} has run out")]
struct LeaseLost(String);

#[actor]
struct Lease {
    holder: String,
    renewals: u32,
}

#[actor]
impl Lease {
    #[handler]
    fn renew(&mut self) -> Result<u32, LeaseLost> {
        self.renewals += 1;
        if self.renewals > 3 { Err(LeaseLost(self.holder.clone())) } else { Ok(self.renewals) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = MAX_RETRIES, within = "1m"), on(LeaseLost) = Restart)]
struct Coordinator;

#[actor]
impl Coordinator {
    #[handler]
    fn grant(&mut self, holder: String, ctx: &mut Context<Self>) -> Result<LeaseRef, SpawnError> {
        ctx.spawn(holder.clone(), move || Lease { holder: holder.clone(), renewals: 0 })
    }

    #[handler]
    fn limit(&self) -> u32 {
        MAX_RETRIES
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("leases");
    let coordinator = system.spawn("coordinator", || Coordinator)?;
    let lease = coordinator.grant("ann".to_owned()).await?;
    println!("{} of {}", lease.renew().await?, coordinator.limit().await?);
    system.terminate().await;
    Ok(())
}
