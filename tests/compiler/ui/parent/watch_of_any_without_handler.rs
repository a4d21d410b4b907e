//! An actor watches its parent, whose type is not known, and has no watch method for any type.

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
