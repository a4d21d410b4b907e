//! A factory gives its configuration away, though it runs again at each restart.

use std::collections::VecDeque;

use supervise::prelude::*;

#[derive(Debug, Clone)]
struct Config {
    url: String,
    tables: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("the table {0} is locked")]
struct Locked(String);

#[actor]
struct Writer {
    config: Config,
    queue: VecDeque<String>,
}

#[actor]
impl Writer {
    #[handler]
    fn write(&mut self, row: String) -> Result<usize, Locked> {
        if row.starts_with('!') {
            return Err(Locked(self.config.tables.concat()));
        }
        self.queue.push_back(row);
        Ok(self.queue.len())
    }

    #[handler]
    fn url(&self) -> String {
        self.config.url.clone()
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 5, within = "1m"), on(Locked) = Restart)]
struct Database;

#[actor]
impl Database {
    #[handler]
    fn open(&mut self, config: Config, ctx: &mut Context<Self>) -> Result<WriterRef, SpawnError> {
        ctx.spawn("writer", move || Writer { config, queue: VecDeque::new() })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config { url: "db://localhost".to_owned(), tables: vec!["orders".to_owned()] };
    let system = ActorSystem::new("shop");
    let writer = system.spawn("database", || Database)?.open(config).await?;
    println!("{} {}", writer.write("a".to_owned()).await?, writer.url().await?);
    system.terminate().await;
    Ok(())
}
