//! A handler that holds an `Rc` across an await.

use supervise::prelude::*;

use std::rc::Rc;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    async fn fetch(&mut self, id: u64) -> u64 {
        let id = Rc::new(id);
        std::future::ready(()).await;
        *id
    }
}

async fn caller(feed: FeedRef) {
    let _ = feed.fetch(1).await;
}

fn main() {}
