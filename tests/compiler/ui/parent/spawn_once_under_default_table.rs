//! A child that cannot be rebuilt, under the default table.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
struct FeedError;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) -> Result<u8, FeedError> {
        Err(FeedError)
    }
}

#[actor]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>, feed: FeedRef) {
        let _ = ctx.spawn_once("feed", Feed);
        let _ = feed;
    }
}

fn main() {}
