//! The window is a `Duration`, as Akka's `withinTimeRange` takes one.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the printer is jammed")]
struct Jammed;

#[actor]
struct Printer {
    pages: u32,
}

#[actor]
impl Printer {
    #[handler]
    fn print(&mut self, pages: u32) -> Result<u32, Jammed> {
        self.pages += pages;
        if self.pages > 500 { Err(Jammed) } else { Ok(self.pages) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = Duration::from_secs(60)), on(Jammed) = Restart)]
struct Office {
    patience: Duration,
    #[child(|_| || Printer { pages: 0 })]
    printer: Child<Printer>,
}

#[actor]
impl Office {
    #[handler]
    async fn print(&self, pages: u32) -> Result<u32, AskError> {
        self.printer.actor().print(pages).timeout(self.patience).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("office");
    let office = || Office { patience: Duration::from_secs(2), printer: Child::default() };
    println!("{}", system.spawn("office", office)?.print(3).await?);
    system.terminate().await;
    Ok(())
}
