//! A stash condition that returns nothing.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[stash_while]
    fn closed(&self, message: &FeedMessage) {
        let _ = message;
    }
}

fn main() {}
