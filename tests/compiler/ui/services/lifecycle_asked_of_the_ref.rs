//! A ref is asked whether its actor has ended, as if that were a method of the generated ref.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the stream broke")]
struct Broken;

#[actor]
struct Stream {
    position: u64,
}

#[actor]
impl Stream {
    #[handler]
    fn next(&mut self) -> Result<u64, Broken> {
        self.position += 1;
        if self.position == 100 { Err(Broken) } else { Ok(self.position) }
    }
}

#[actor]
#[supervise(one_for_one, on(Broken) = Stop)]
struct Monitor {
    streams: Vec<StreamRef>,
}

#[actor]
impl Monitor {
    #[handler]
    fn follow(&mut self, ctx: &mut Context<Self>) -> Result<StreamRef, SpawnError> {
        let stream = ctx.spawn_anonymous(|| Stream { position: 0 })?;
        self.streams.push(stream.clone());
        Ok(stream)
    }

    #[handler]
    fn alive(&self) -> usize {
        self.streams.iter().filter(|stream| !stream.has_ended()).count()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("video");
    let monitor = system.spawn("monitor", || Monitor { streams: Vec::new() })?;
    println!("{}", monitor.follow().await?.next().await?);
    println!("{}", monitor.alive().await?);
    system.terminate().await;
    Ok(())
}
