//! The same failure behind two aliases is reported once.

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
    #[handler]
    fn read(&mut self) -> std::io::Result<u8> {
        Ok(1)
    }

    #[handler]
    fn write(&mut self) -> std::io::Result<()> {
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
