//! `watch_with` delivers a message of the watcher's own; `Terminated` reports any other end.

use supervise::prelude::*;

#[actor]
struct Worker;

#[actor]
impl Worker {}

#[actor]
struct Registry;

#[actor]
impl Registry {
    #[handler]
    fn register(&mut self, id: u64, worker: WorkerRef, ctx: &mut Context<Self>) {
        let me = ctx.me();
        if let Err(error) = ctx.watch_with(&worker, me.left(id)) {
            let _ = error.to_string();
        }
    }

    #[handler]
    fn left(&mut self, id: u64) {
        let _ = id;
    }

    #[handler]
    fn forget(&mut self, worker: WorkerRef, ctx: &mut Context<Self>) {
        ctx.unwatch(&worker);
    }

    #[watch]
    async fn anyone(&mut self, gone: Terminated, ctx: &mut Context<Self>) -> Result<(), std::fmt::Error> {
        let _ = (gone.path(), ctx.path());
        Ok(())
    }
}

pub(super) fn main() {}
