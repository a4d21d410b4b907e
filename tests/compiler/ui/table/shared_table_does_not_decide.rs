//! The table that an actor shares has no rule for what its child fails with.

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

#[supervise(on(std::io::Error) = Restart)]
struct Network;

#[actor]
#[supervise(table = Network)]
struct Parent;

#[actor]
impl Parent {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        let _writer = ctx.spawn("writer", || Writer);
    }
}

fn main() {}
