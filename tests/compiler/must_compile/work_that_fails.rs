//! What the compiler does not check: the error of a future beside the handlers fails the actor, and no rule above names it.

use std::io;

use supervise::prelude::*;

#[actor]
struct Upload;

#[actor]
impl Upload {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.try_pipe(async { Err::<u64, io::Error>(io::ErrorKind::TimedOut.into()) }, |me, sent| me.sent(sent));
        ctx.try_blocking(|| std::fs::read("file").map(|bytes| bytes.len() as u64), |me, sent| me.sent(sent));
    }

    #[handler]
    fn sent(&mut self, _bytes: u64) {}
}

#[actor]
#[supervise(on(std::fmt::Error) = Stop)]
struct Site {
    #[child(|_| || Upload)]
    upload: Child<Upload>,
}

#[actor]
impl Site {}

pub(super) fn main() {
    let _ = Site { upload: Child::default() }.upload.get().is_none();
}
