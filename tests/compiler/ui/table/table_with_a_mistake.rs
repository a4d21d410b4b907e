//! A mistake in a table of its own is reported there alone.

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

#[supervise(on(DiskFull) = Restart, on(_) = Perhaps)]
struct Storage;

#[actor]
#[supervise(table = Storage)]
struct Parent;

#[actor]
impl Parent {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        let _writer = ctx.spawn("writer", || Writer);
    }
}

fn main() {}
