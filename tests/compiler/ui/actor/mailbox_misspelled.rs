//! A mailbox whose kind is spelled wrong.

use supervise::prelude::*;

#[actor(mailbox = unbound)]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}
}

fn main() {}
