//! A child's factory takes a parameter.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {}

#[actor]
struct Library;

#[actor]
impl Library {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<FeedRef, SpawnError> {
        ctx.spawn("feed", |_| Feed)
    }
}

fn main() {}
