//! One error type in two spellings above `on(_)`: the second rule is dead, without a word.

use std::io;
use std::io::Error as IoError;

use supervise::prelude::*;

#[actor]
struct Disk;

#[actor]
impl Disk {
    #[handler]
    fn read(&mut self, block: u64) -> Result<u64, io::Error> {
        if block > 100 { Err(io::ErrorKind::NotFound.into()) } else { Ok(block) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3), on(IoError) = Resume, on(std::io::Error) = Restart, on(_) = Stop)]
struct Array {
    #[child(|_| || Disk)]
    disk: Child<Disk>,
}

#[actor]
impl Array {
    #[handler]
    async fn read(&self, block: u64) -> Option<u64> {
        self.disk.actor().read(block).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("disks");
    let array = system.spawn("array", || Array { disk: Child::default() })?;
    println!("{:?}", array.read(7).await?);
    system.terminate().await;
    Ok(())
}
