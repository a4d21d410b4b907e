//! A factory opens a connection, which `#[pre_start]` should do.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("cannot reach {0}")]
struct Unreachable(String);

struct Connection(String);

impl Connection {
    async fn open(url: &str) -> Result<Self, Unreachable> {
        tokio::task::yield_now().await;
        if url.is_empty() { Err(Unreachable(url.to_owned())) } else { Ok(Self(url.to_owned())) }
    }
}

#[actor]
struct Repository {
    connection: Connection,
}

#[actor]
impl Repository {
    #[handler]
    fn find(&mut self, id: u64) -> String {
        format!("{id}@{}", self.connection.0)
    }
}

#[actor]
#[supervise(one_for_one, on(Unreachable) = Restart(backoff(min = "100ms", max = "10s")), on(SpawnError) = Stop)]
struct Api;

#[actor]
impl Api {
    #[handler]
    async fn open(&mut self, ctx: &mut Context<Self>) -> Result<RepositoryRef, SpawnError> {
        ctx.spawn("repository", || async {
            let connection = Connection::open("db://localhost").await?;
            Ok::<_, Unreachable>(Repository { connection })
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("api");
    println!("{}", system.spawn("api", || Api)?.open().await?.find(7).await?);
    system.terminate().await;
    Ok(())
}
