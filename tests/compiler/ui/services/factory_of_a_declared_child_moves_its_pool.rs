//! The factory of a declared child gives away the pool that it was given.

use supervise::prelude::*;

struct Pool {
    urls: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("no connection to {0}")]
struct NoConnection(String);

#[actor]
struct Reader {
    pool: Pool,
}

#[actor]
impl Reader {
    #[handler]
    fn read(&mut self, row: usize) -> Result<usize, NoConnection> {
        match self.pool.urls.get(row) {
            Some(url) => Err(NoConnection(url.clone())),
            None => Ok(row),
        }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 5, within = "1m"), on(NoConnection) = Restart)]
struct Database {
    urls: Vec<String>,
    #[child(|this| { let pool = Pool { urls: this.urls.clone() }; move || Reader { pool } })]
    reader: Child<Reader>,
}

#[actor]
impl Database {
    #[handler]
    async fn read(&mut self, row: usize) -> Result<usize, AskError> {
        self.reader.actor().read(row).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let database = system.spawn("database", || Database { urls: Vec::new(), reader: Child::default() })?;
    println!("{}", database.read(3).await?);
    system.terminate().await;
    Ok(())
}
