//! The parent is watched, which is an actor of any type, without a watch method for any type.

use supervise::prelude::*;

#[actor]
struct Child;

#[actor]
impl Child {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        if let Some(parent) = ctx.parent() {
            ctx.watch_any(parent);
        }
    }

    #[watch]
    fn sibling_gone(&mut self, _gone: Terminated<Child>) {}
}

fn main() {}
