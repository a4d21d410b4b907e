//! `Default` restarts an actor that failed because a start below it did, and at the limit that escalates: with an error for which
//! the shop has no rule.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no connection")]
struct NoConnection;

#[actor]
struct Connection;

#[actor]
impl Connection {
    #[pre_start]
    async fn connect(&mut self) -> Result<(), NoConnection> {
        tokio::task::yield_now().await;
        Err(NoConnection)
    }
}

#[actor]
#[supervise(one_for_one, on(InitializationFailed) = Escalate, on(NoConnection) = Stop)]
struct Database;

#[actor]
impl Database {
    #[handler]
    fn connect(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("connection", || Connection)?;
        Ok(())
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 3, on_limit = Escalate),
    on(InitializationFailed) = Default,
    on(SpawnError) = Stop,
)]
struct Storage;

#[actor]
impl Storage {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("database", || Database)?;
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
        ctx.spawn("storage", || Storage)?;
        Ok(())
    }
}

fn main() {}
