//! A failure that nobody in the chain decides reaches the guardian, which decides all failures.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

#[actor]
struct Leaf;

#[actor]
impl Leaf {
    #[handler]
    fn fail(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }
}

#[actor]
#[supervise(on(_) = Escalate)]
struct Middle;

#[actor]
impl Middle {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<LeafRef, SpawnError> {
        ctx.spawn("leaf", || Leaf)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, on_limit = Escalate), on(_) = Restart)]
struct Top;

#[actor]
impl Top {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<MiddleRef, SpawnError> {
        ctx.spawn("middle", || Middle)
    }
}

fn start(system: &ActorSystem) -> Result<TopRef, SpawnError> {
    system.spawn("top", || Top)
}

pub(super) fn main() {}
