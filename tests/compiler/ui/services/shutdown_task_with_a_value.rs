//! A service whose shutdown stops its workers: the task returns what the stop has returned.

use std::time::Duration;

use supervise::Phase;
use supervise::prelude::*;

#[actor]
struct Worker {
    done: u32,
}

#[actor]
impl Worker {
    #[handler]
    fn work(&mut self) -> u32 {
        self.done += 1;
        self.done
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("service");
    let worker = system.spawn("worker", || Worker { done: 0 })?;
    let (ending, stopping) = (system.clone(), worker.clone());
    let stop = async move { ending.graceful_stop(&stopping, Duration::from_secs(5)).await };
    system.coordinated_shutdown().add_task(Phase::SERVICE_STOP, "stop the worker", stop)?;
    worker.work().await?;
    system.terminate().await;
    Ok(())
}
