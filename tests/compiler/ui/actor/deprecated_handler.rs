//! A call of a deprecated handler gets a warning.

#![deny(deprecated)]

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    #[deprecated(note = "use `read`")]
    fn fetch(&self) {}
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch().await;
}

fn main() {}
