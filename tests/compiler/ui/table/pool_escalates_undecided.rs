//! The table of a pool escalates what its parent does not decide.

use supervise::pattern::{Pool, TooManyReplacements};
use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

#[actor]
struct Writer;

#[actor]
impl Writer {
    #[handler]
    fn write(&mut self) -> Result<(), DiskFull> {
        Err(DiskFull)
    }
}

#[supervise(on(DiskFull) = Escalate)]
struct HandsUp;

#[actor]
#[supervise(on(TooManyReplacements) = Stop)]
struct Parent;

#[actor]
impl Parent {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        let pool = Pool::round_robin(3, || Writer).supervised_by::<HandsUp>().props();
        let _pool = ctx.spawn_with("pool", pool);
    }
}

fn main() {}
