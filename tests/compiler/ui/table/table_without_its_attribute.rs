//! The type that is to be a table has no `#[supervise]`.

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

struct Storage;

#[actor]
#[supervise(table = Storage)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
