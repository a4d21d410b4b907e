//! `redeliver = 0`.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler(redeliver = 0)]
    fn fetch(&mut self, id: u64) {
        let _ = id;
    }
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch(1).await;
}

fn main() {}
