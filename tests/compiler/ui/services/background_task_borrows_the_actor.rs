//! A handler gives its own `self` to a task.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the exchange is closed")]
struct Closed;

#[actor]
struct Quotes {
    latest: Option<u64>,
}

#[actor]
impl Quotes {
    #[handler]
    fn latest(&self) -> Result<u64, Closed> {
        self.latest.ok_or(Closed)
    }

    #[handler]
    fn refresh(&mut self) {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.latest = Some(7);
        });
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(Closed) = Resume)]
struct Broker {
    #[child(|_| || Quotes { latest: None })]
    quotes: Child<Quotes>,
}

#[actor]
impl Broker {
    #[handler]
    async fn quote(&self) -> Result<u64, AskError> {
        self.quotes.actor().refresh().await?;
        self.quotes.actor().latest().await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("broker");
    let broker = system.spawn("broker", || Broker { quotes: Child::default() })?;
    println!("{:?}", broker.quote().await);
    system.terminate().await;
    Ok(())
}
