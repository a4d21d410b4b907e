//! A factory takes the new actor's context, as Akka's `Behaviors.setup`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the shelf is full")]
struct ShelfFull;

#[actor]
struct Shelf {
    books: Vec<String>,
}

#[actor]
impl Shelf {
    #[handler]
    fn put(&mut self, book: String) -> Result<usize, ShelfFull> {
        if self.books.len() == 40 {
            return Err(ShelfFull);
        }
        self.books.push(book);
        Ok(self.books.len())
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3), on(ShelfFull) = Resume)]
struct Library {
    shelves: Vec<ShelfRef>,
}

#[actor]
impl Library {
    fn new(ctx: &mut Context<Self>) -> Result<Self, SpawnError> {
        Ok(Library { shelves: vec![ctx.spawn("first", || Shelf { books: Vec::new() })?] })
    }

    #[handler]
    async fn store(&mut self, book: String) -> Option<usize> {
        self.shelves.last()?.put(book).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("town");
    let library = system.spawn("library", |ctx| Library::new(ctx))?;
    println!("{:?}", library.store("Emma".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
