//! A message that borrows.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, name: &str) -> usize {
        name.len()
    }
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch("x").await;
}

fn main() {}
