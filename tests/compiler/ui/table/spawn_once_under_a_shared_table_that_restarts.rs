//! A shared table that restarts its children cannot hold one that is built once.

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

#[supervise(on(_) = Stop)]
struct Careful;

#[supervise(on(_) = Restart)]
struct Bold;

#[actor]
#[supervise(table = Careful)]
struct Once;

#[actor]
impl Once {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        let _writer = ctx.spawn_once("writer", Writer);
    }
}

#[actor]
#[supervise(table = Bold)]
struct Again;

#[actor]
impl Again {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        let _writer = ctx.spawn_once("writer", Writer);
    }
}

fn main() {}
