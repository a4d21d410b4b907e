//! A table has both rules and a shared table.

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

#[supervise(on(DiskFull) = Restart)]
struct Storage;

#[actor]
#[supervise(one_for_one, table = Storage, on(std::io::Error) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
