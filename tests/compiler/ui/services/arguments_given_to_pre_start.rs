//! `pre_start` takes start arguments, as ractor's does.

use supervise::prelude::*;

#[derive(Debug, Clone)]
struct Arguments {
    topic: String,
    partitions: u32,
}

#[derive(Debug, thiserror::Error)]
#[error("the topic {0} has no partitions")]
struct NoPartitions(String);

#[actor]
struct Consumer {
    topic: String,
    partitions: u32,
}

#[actor]
impl Consumer {
    #[pre_start]
    async fn subscribe(&mut self, _ctx: &mut Context<Self>, arguments: Arguments) -> Result<(), NoPartitions> {
        if arguments.partitions == 0 {
            return Err(NoPartitions(arguments.topic));
        }
        self.topic = arguments.topic;
        self.partitions = arguments.partitions;
        Ok(())
    }

    #[handler]
    fn subscription(&self) -> String {
        format!("{} × {}", self.topic, self.partitions)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(NoPartitions) = Stop)]
struct Pipeline {
    arguments: Arguments,
}

#[actor]
impl Pipeline {
    #[handler]
    fn consume(&mut self, ctx: &mut Context<Self>) -> Result<ConsumerRef, SpawnError> {
        ctx.spawn("consumer", || Consumer { topic: String::new(), partitions: 0 })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments { topic: "orders".to_owned(), partitions: 4 };
    let system = ActorSystem::new("pipeline");
    let pipeline = system.spawn("pipeline", move || Pipeline { arguments: arguments.clone() })?;
    println!("{}", pipeline.consume().await?.subscription().await?);
    system.terminate().await;
    Ok(())
}
