//! A hook can fail with something the parent's table does not name.

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
struct Other;

#[actor]
impl Other {
    #[post_restart]
    fn again(&mut self) -> Result<(), std::fmt::Error> {
        Ok(())
    }
}

#[actor]
#[supervise(on(FeedError) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>, feed: FeedRef) {
        let _ = ctx.spawn("other", || Other);
        let _ = feed;
    }
}

fn main() {}
