//! A stash size on the impl block.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor(stash = 10)]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}
}

fn main() {}
