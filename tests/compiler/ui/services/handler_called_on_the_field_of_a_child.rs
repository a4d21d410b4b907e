//! A handler of a declared child is called on the field, as if the field were the child's ref.

use std::io;

use supervise::prelude::*;

#[actor]
struct Printer {
    pages: u32,
}

#[actor]
impl Printer {
    #[handler]
    fn print(&mut self, pages: u32) -> io::Result<u32> {
        self.pages += pages;
        if self.pages > 500 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(self.pages) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "1m"), on(io::Error) = Restart)]
struct Office {
    #[child(|_| || Printer { pages: 0 })]
    printer: Child<Printer>,
}

#[actor]
impl Office {
    #[handler]
    async fn print(&mut self, pages: u32) -> Option<u32> {
        self.printer.print(pages).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("office");
    let office = system.spawn("office", || Office { printer: Child::default() })?;
    println!("{:?}", office.print(7).await?);
    system.terminate().await;
    Ok(system.when_terminated().await?)
}
