//! Two methods say which messages wait.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}

    #[stash_while]
    fn closed(&self, _message: &FeedMessage) -> bool {
        true
    }

    #[stash_while]
    fn paused(&self, _message: &FeedMessage) -> bool {
        false
    }
}

fn main() {}
