//! A remote scheduler takes a point in time that means something on one machine only.

use std::time::{Duration, Instant};

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the queue is full")]
struct QueueFull;

#[actor]
struct Scheduler {
    due: Vec<Instant>,
}

#[actor(remote)]
impl Scheduler {
    #[handler]
    fn schedule(&mut self, at: Instant) -> Result<u64, QueueFull> {
        if self.due.len() == 1000 {
            return Err(QueueFull);
        }
        self.due.push(at);
        Ok(self.due.len() as u64)
    }
}

#[actor]
#[supervise(one_for_one, on(QueueFull) = Resume)]
struct Cron {
    #[child(|_| || Scheduler { due: Vec::new() })]
    scheduler: Child<Scheduler>,
}

#[actor]
impl Cron {
    #[handler]
    async fn in_an_hour(&self) -> Result<u64, AskError> {
        self.scheduler.actor().schedule(Instant::now() + Duration::from_secs(3600)).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("cron");
    println!("{}", system.spawn("cron", || Cron { scheduler: Child::default() })?.in_an_hour().await?);
    system.terminate().await;
    Ok(())
}
