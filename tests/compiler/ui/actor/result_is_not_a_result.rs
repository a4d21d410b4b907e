//! A type called `Result` that is not an alias of it.

use supervise::prelude::*;

mod outcome {
    pub struct Result(pub u64);
}

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, id: u64) -> outcome::Result {
        outcome::Result(id)
    }
}

fn main() {}
