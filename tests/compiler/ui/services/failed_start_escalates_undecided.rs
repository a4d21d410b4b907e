//! A child that cannot start escalates its error to a grandparent whose table has no rule for it.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no connection")]
struct NoConnection;

#[actor]
struct Writer;

#[actor]
impl Writer {
    #[pre_start]
    async fn connect(&mut self) -> Result<(), NoConnection> {
        tokio::task::yield_now().await;
        Err(NoConnection)
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 3, within = "10s", on_limit = Escalate),
    on(InitializationFailed) = Restart,
    on(NoConnection) = Stop,
)]
struct Database;

#[actor]
impl Database {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("writer", || Writer)?;
        Ok(())
    }
}

#[actor]
#[supervise(one_for_one, on(SpawnError) = Stop)]
struct Shop;

#[actor]
impl Shop {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("database", || Database)?;
        Ok(())
    }
}

fn main() {}
