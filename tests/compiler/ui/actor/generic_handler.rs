//! A handler with a type parameter.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch<T: Into<u64>>(&mut self, id: u64) {
        let _ = id;
    }
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch(1).await;
}

fn main() {}
