//! An async stash condition.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[stash_while]
    async fn closed(&self, message: &FeedMessage) -> bool {
        let _ = message;
        false
    }
}

fn main() {}
