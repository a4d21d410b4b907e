//! Methods that use the context without taking it: a hook, a handler that calls it otherwise, a helper, and one that passes it on.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[pre_start]
    async fn open(&mut self) -> Result<(), std::io::Error> {
        ctx.stop_self();
        Ok(())
    }

    #[handler]
    fn close(&mut self, now: bool, _ctx: &mut Context<Self>) {
        if now {
            ctx.stop_self();
        }
    }

    #[handler]
    fn pass_on(&mut self) {
        end(ctx);
    }

    fn helper(&self, reason: &str) {
        println!("{} ends: {reason}", ctx.path());
    }
}

fn end(ctx: &mut Context<Feed>) {
    ctx.stop_self();
}

fn main() {}
