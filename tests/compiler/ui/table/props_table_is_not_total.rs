//! The table that takes the place of a type's own must decide everything.

use supervise::Props;
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
struct Keeper;

#[actor]
impl Keeper {}

fn main() {
    let _props = Props::new(|| Keeper).supervised_by::<Storage>();
}
