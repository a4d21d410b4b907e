//! The guardian's table must decide everything.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

#[actor]
struct Writer;

#[actor]
impl Writer {
    #[handler]
    fn write(&mut self) -> Result<(), DiskFull> {
        Err(DiskFull)
    }
}

#[supervise(on(DiskFull) = Restart)]
struct Storage;

#[tokio::main]
async fn main() {
    let system = ActorSystem::builder("shop").supervised_by::<Storage>().start().unwrap();
    system.terminate().await;
}
