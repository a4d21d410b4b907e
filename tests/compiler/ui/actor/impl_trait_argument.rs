//! A handler with an `impl Trait` argument.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, id: impl Into<u64>) {
        let _: u64 = id.into();
    }
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch(1).await;
}

fn main() {}
