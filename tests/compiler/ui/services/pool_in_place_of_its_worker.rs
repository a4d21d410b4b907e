//! A pool's ref is given to an actor that holds the ref of one worker.

use supervise::pattern::Pool;
use supervise::prelude::*;

#[actor]
struct Resizer;

#[actor]
impl Resizer {
    #[handler]
    fn resize(&mut self, image: Vec<u8>) -> Vec<u8> {
        image
    }
}

#[actor]
struct Gallery {
    resizer: ResizerRef,
}

#[actor]
impl Gallery {
    #[handler]
    async fn add(&mut self, image: Vec<u8>) -> Result<Vec<u8>, AskError> {
        self.resizer.resize(image).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("photos");
    let resizers = system.spawn_with("resizers", Pool::round_robin(4, || Resizer).props())?;
    let gallery = system.spawn("gallery", move || Gallery { resizer: resizers.clone() })?;
    println!("{:?}", gallery.add(vec![1]).await?);
    system.terminate().await;
    Ok(())
}
