//! A misspelled attribute.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handlr]
    fn fetch(&mut self, id: u64) {
        let _ = id;
    }

    #[handler]
    fn other(&mut self) {}
}

async fn caller(feed: FeedRef) {
    let _ = feed.other().await;
}

fn main() {}
