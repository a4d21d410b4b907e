//! A factory that waits.

use std::io;

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {
    #[handler]
    fn next_line(&mut self) -> Result<u32, io::Error> {
        Ok(1)
    }
}

fn main() {
    let system = ActorSystem::new("demo");
    let _ = system.spawn("reader", async || Reader);
}
