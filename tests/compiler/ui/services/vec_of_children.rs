//! A field declares many children at once.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the frame is broken")]
struct BrokenFrame;

#[actor]
struct Encoder;

#[actor]
impl Encoder {
    #[handler]
    fn encode(&mut self, frame: Vec<u8>) -> Result<Vec<u8>, BrokenFrame> {
        if frame.is_empty() { Err(BrokenFrame) } else { Ok(frame.into_iter().rev().collect()) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "10s"), on(BrokenFrame) = Restart)]
struct Studio {
    next: usize,
    #[child(|_| || Encoder)]
    encoders: Vec<Child<Encoder>>,
}

#[actor]
impl Studio {
    #[handler]
    async fn encode(&mut self, frame: Vec<u8>) -> Option<Vec<u8>> {
        self.next = (self.next + 1) % self.encoders.len();
        self.encoders[self.next].actor().encode(frame).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("studio");
    let studio = system.spawn("studio", || Studio { next: 0, encoders: Vec::new() })?;
    println!("{:?}", studio.encode(vec![1, 2, 3]).await?);
    system.terminate().await;
    Ok(())
}
