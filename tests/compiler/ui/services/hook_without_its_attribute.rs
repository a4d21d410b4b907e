//! Hooks by ractor's and Akka's names, without their attributes: they never run.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("not connected")]
pub struct NotConnected;

#[actor]
pub struct Bridge {
    connection: Option<String>,
}

#[actor]
impl Bridge {
    pub async fn pre_start(&mut self, _ctx: &mut Context<Self>) -> Result<(), NotConnected> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.connection = Some("tcp://broker".to_owned());
        Ok(())
    }

    pub async fn post_stop(&mut self, _ctx: &mut Context<Self>) {
        self.connection = None;
    }

    #[handler]
    fn publish(&mut self, text: String) -> Result<usize, NotConnected> {
        self.connection.as_ref().map(|_| text.len()).ok_or(NotConnected)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(NotConnected) = Restart)]
struct Home {
    #[child(|_| || Bridge { connection: None })]
    bridge: Child<Bridge>,
}

#[actor]
impl Home {
    #[handler]
    async fn publish(&self, text: String) -> Result<usize, AskError> {
        self.bridge.actor().publish(text).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("home");
    println!("{:?}", system.spawn("home", || Home { bridge: Child::default() })?.publish("on".to_owned()).await);
    system.terminate().await;
    Ok(())
}
