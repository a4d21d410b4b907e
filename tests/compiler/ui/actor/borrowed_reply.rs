//! A reply that borrows from the actor.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn name(&self) -> &str {
        "feed"
    }
}

fn main() {}
