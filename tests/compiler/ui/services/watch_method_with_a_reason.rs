//! A watch method takes what Erlang's `'DOWN'` message carries.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the worker lost its data")]
struct DataLost;

#[actor]
struct Worker {
    jobs: u32,
}

#[actor]
impl Worker {
    #[handler]
    fn work(&mut self) -> Result<u32, DataLost> {
        self.jobs += 1;
        if self.jobs > 10 { Err(DataLost) } else { Ok(self.jobs) }
    }
}

#[actor]
#[supervise(one_for_one, on(DataLost) = Stop)]
struct Manager {
    workers: u32,
    log: Vec<String>,
}

#[actor]
impl Manager {
    #[handler]
    fn hire(&mut self, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        let worker = ctx.spawn_anonymous(|| Worker { jobs: 0 })?;
        ctx.watch(&worker);
        self.workers += 1;
        Ok(worker)
    }

    #[watch]
    fn worker_down(&mut self, worker: WorkerRef, reason: String) {
        self.workers -= 1;
        self.log.push(format!("{:?} ended: {reason}", worker));
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("plant");
    let worker = system.spawn("manager", || Manager { workers: 0, log: Vec::new() })?.hire().await?;
    println!("{}", worker.work().await?);
    system.terminate().await;
    Ok(())
}
