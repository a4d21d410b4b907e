//! The user has an enum with the name of the generated messages, and no handler takes it.

use supervise::prelude::*;

/// What the printer writes on its own channel.
#[derive(Debug, Clone, Copy)]
pub enum PrinterMessage {
    Jammed,
    Empty,
}

#[derive(Debug, thiserror::Error)]
#[error("the printer says {0:?}")]
pub struct Stuck(PrinterMessage);

#[actor]
pub struct Printer {
    pages: u32,
    last: Option<PrinterMessage>,
}

#[actor]
impl Printer {
    #[handler]
    fn print(&mut self, pages: u32) -> Result<u32, Stuck> {
        if self.pages < pages {
            self.last = Some(PrinterMessage::Empty);
            return Err(Stuck(PrinterMessage::Empty));
        }
        self.pages -= pages;
        Ok(self.pages)
    }
}

#[actor]
#[supervise(one_for_one, on(Stuck) = Resume)]
struct Office {
    #[child(|_| || Printer { pages: 500, last: Some(PrinterMessage::Jammed) })]
    printer: Child<Printer>,
}

#[actor]
impl Office {
    #[handler]
    async fn letter(&self) -> Result<u32, AskError> {
        self.printer.actor().print(2).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("office");
    println!("{}", system.spawn("office", || Office { printer: Child::default() })?.letter().await?);
    system.terminate().await;
    Ok(())
}
