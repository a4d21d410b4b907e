//! A stash without a size.

use supervise::prelude::*;

#[actor(stash)]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}
}

fn main() {}
