//! The table of a backoff supervisor has no rule for what its child fails with.

use std::time::Duration;

use supervise::pattern::BackoffSupervisor;
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

fn main() {
    let delays = supervise::Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60));
    let _supervisor =
        BackoffSupervisor::on_failure("writer", || Writer, delays).supervised_by::<Network>().props();
}
