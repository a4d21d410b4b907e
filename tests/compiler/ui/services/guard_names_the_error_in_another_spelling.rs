//! A guard and the rule behind it spell one error type in two ways.

use std::io;
use std::net::SocketAddr;

use supervise::prelude::*;

#[actor]
struct Uplink {
    peer: SocketAddr,
    sent: u64,
}

#[actor]
impl Uplink {
    #[handler]
    fn push(&mut self, frame: Vec<u8>) -> Result<u64, io::Error> {
        if self.peer.port() == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer"));
        }
        self.sent += frame.len() as u64;
        Ok(self.sent)
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 5, within = "30s"),
    on(io::Error if |error| error.kind() == io::ErrorKind::TimedOut) = Resume,
    on(std::io::Error) = Restart,
    on(Panic) = Stop,
)]
struct Gateway {
    peers: Vec<SocketAddr>,
}

#[actor]
impl Gateway {
    #[pre_start]
    fn connect(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        for (number, &peer) in self.peers.iter().enumerate() {
            ctx.spawn(format!("uplink-{number}"), move || Uplink { peer, sent: 0 })?;
        }
        Ok(())
    }

    #[handler]
    fn peers(&self) -> usize {
        self.peers.len()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("edge");
    let gateway = system.spawn("gateway", || Gateway { peers: vec![([127, 0, 0, 1], 80).into()] })?;
    println!("{} peers", gateway.peers().await?);
    system.terminate().await;
    Ok(())
}
