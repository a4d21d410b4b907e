//! Declared children held by their refs.

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

#[actor]
#[supervise(on(io::Error) = Restart)]
struct Library {
    #[child(|_| || Reader)]
    first: ReaderRef,
    #[child(|_| || Reader)]
    second: Option<Child<Reader>>,
    #[child(|_| || Reader)]
    third: ActorRef<Reader>,
}

#[actor]
impl Library {}

fn main() {}
