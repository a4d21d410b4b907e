//! A child escalates everything, its parent does not take everything.

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
#[supervise(on(_) = Escalate)]
struct Middle;

#[actor]
impl Middle {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("feed", || Feed);
    }
}

#[actor]
#[supervise(on(FeedError) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>, feed: FeedRef) {
        let _ = ctx.spawn("middle", || Middle);
        let _ = feed;
    }
}

fn main() {}
