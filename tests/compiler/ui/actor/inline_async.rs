//! `inline` on an `async fn`.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler(inline)]
    async fn fetch(&mut self, id: u64) -> u64 {
        id
    }
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch(1).await;
}

fn main() {}
