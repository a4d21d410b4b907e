//! The table of a pool has no rule for what its workers fail with.

use supervise::pattern::Pool;
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
    let _pool = Pool::round_robin(3, || Writer).supervised_by::<Network>().props();
}
