//! A field is a `Child<..>`, and nothing declares it: it panics when it is used.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("out of paper")]
struct OutOfPaper;

#[actor]
struct Printer;

#[actor]
impl Printer {
    #[handler]
    fn print(&mut self, page: String) -> Result<usize, OutOfPaper> {
        if page.is_empty() { Err(OutOfPaper) } else { Ok(page.len()) }
    }
}

#[actor]
#[supervise(one_for_one, on(OutOfPaper) = Restart)]
struct Office {
    printer: Child<Printer>,
}

#[actor]
impl Office {
    #[handler]
    async fn print(&self, page: String) -> Result<usize, AskError> {
        self.printer.actor().print(page).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("office");
    println!("{:?}", system.spawn("office", || Office { printer: Child::default() })?.print("a".to_owned()).await);
    system.terminate().await;
    Ok(())
}
