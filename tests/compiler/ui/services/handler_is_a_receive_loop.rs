//! The actor takes its messages out of its mailbox itself, as a task of tokio's does from a channel.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the job {0} failed")]
struct JobFailed(u32);

#[actor]
struct Worker {
    done: u32,
}

#[actor]
impl Worker {
    #[pre_start]
    async fn run(&mut self, ctx: &mut Context<Self>) -> Result<(), JobFailed> {
        while let Some(message) = ctx.recv().await {
            match message {
                WorkerMessage::Work { job: 13 } => return Err(JobFailed(13)),
                WorkerMessage::Work { .. } => self.done += 1,
            }
        }
        Ok(())
    }

    #[handler]
    fn work(&mut self, job: u32) {
        self.done += job;
    }
}

#[actor]
#[supervise(one_for_one, on(JobFailed) = Restart)]
struct Farm {
    #[child(|_| || Worker { done: 0 })]
    worker: Child<Worker>,
}

#[actor]
impl Farm {
    #[handler]
    async fn work(&self, job: u32) -> Result<(), AskError> {
        self.worker.actor().work(job).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("farm");
    system.spawn("farm", || Farm { worker: Child::default() })?.work(1).await?;
    system.terminate().await;
    Ok(())
}
