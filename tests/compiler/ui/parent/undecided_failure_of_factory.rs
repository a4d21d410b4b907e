//! A factory can fail with something its parent's table does not name.

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
#[supervise(on(FeedError) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>, feed: FeedRef) {
        let _ = ctx.spawn("feed", || -> Result<Feed, std::io::Error> { Ok(Feed) });
        let _ = feed;
    }
}

fn main() {}
