//! An overflow that is spelled wrong.

use supervise::prelude::*;

#[actor(mailbox = bounded(10, overflow = drop_newst))]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}
}

fn main() {}
