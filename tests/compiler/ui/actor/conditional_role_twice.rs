//! A conditional role beside an unconditional one.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[cfg_attr(unix, handler(redeliver = 2))]
    #[handler]
    fn fetch(&self) {}

    #[handler]
    fn pinned(self: std::pin::Pin<&mut Self>) {}
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch().await;
}

fn main() {}
