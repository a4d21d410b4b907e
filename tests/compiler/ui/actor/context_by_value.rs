//! A handler that takes the context by value.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, id: u64, ctx: Context<Self>) {
        let _ = (id, ctx);
    }
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch(1).await;
}

fn main() {}
