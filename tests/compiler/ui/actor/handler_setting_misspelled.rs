//! A setting of `#[handler]` that does not exist.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler(redelivery = 3)]
    fn fetch(&mut self, id: u64) {
        let _ = id;
    }
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch(1).await;
}

fn main() {}
