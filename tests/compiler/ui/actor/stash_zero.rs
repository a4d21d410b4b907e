//! A stash in which nothing fits.

use supervise::prelude::*;

#[actor(stash = 0)]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}
}

fn main() {}
