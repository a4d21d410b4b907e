//! A hook that takes the context by shared reference.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[pre_start]
    fn open(&mut self, ctx: &Context<Self>) {
        let _ = ctx;
    }
}

fn main() {}
