//! An actor stops itself with `ctx.stop()`, as in actix and kameo.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("step {0} of the saga failed")]
struct StepFailed(u32);

#[actor]
struct Saga {
    step: u32,
}

#[actor]
impl Saga {
    #[handler]
    fn advance(&mut self, ctx: &mut Context<Self>) -> Result<u32, StepFailed> {
        self.step += 1;
        match self.step {
            3 => Err(StepFailed(3)),
            5 => {
                ctx.stop();
                Ok(5)
            }
            step => Ok(step),
        }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(StepFailed) = Resume)]
struct Orders {
    sagas: Vec<SagaRef>,
}

#[actor]
impl Orders {
    #[handler]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<SagaRef, SpawnError> {
        let saga = ctx.spawn_anonymous(|| Saga { step: 0 })?;
        self.sagas.push(saga.clone());
        Ok(saga)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("orders");
    let orders = system.spawn("orders", || Orders { sagas: Vec::new() })?;
    println!("{}", orders.begin().await?.advance().await?);
    system.terminate().await;
    Ok(())
}
