//! A handler returns an error that is meant for its caller, and no rule names it.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

#[derive(Debug, thiserror::Error)]
#[error("{0} is no valid address")]
struct InvalidAddress(String);

#[actor]
struct Users {
    rows: Vec<String>,
}

#[actor]
impl Users {
    #[handler]
    fn register(&mut self, address: String) -> Result<usize, InvalidAddress> {
        if !address.contains('@') {
            return Err(InvalidAddress(address));
        }
        self.rows.push(address);
        Ok(self.rows.len())
    }

    #[handler]
    fn flush(&mut self) -> Result<(), DiskFull> {
        if self.rows.len() > 1000 { Err(DiskFull) } else { Ok(()) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(DiskFull) = Restart)]
struct Website;

#[actor]
impl Website {
    #[handler]
    fn users(&mut self, ctx: &mut Context<Self>) -> Result<UsersRef, SpawnError> {
        ctx.spawn("users", || Users { rows: Vec::new() })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("website");
    let users = system.spawn("website", || Website)?.users().await?;
    match users.register("ann".to_owned()).await? {
        number => println!("user {number:?}"),
    }
    users.flush().await?;
    system.terminate().await;
    Ok(())
}
