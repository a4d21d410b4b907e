//! Who polls a cell. Today: a tokio task each. The cell is one future that does not know.

use std::future::Future;

use crate::system::SystemCore;

/// Lets a cell, or what a system does besides, run until it ends.
pub(crate) fn start(system: &SystemCore, cell: impl Future<Output = ()> + Send + 'static) {
    #[cfg(feature = "testkit")]
    let cell = crate::testkit::Counted::new(system.activity(), cell);
    // The task needs no owner: the cell ends by itself, and tells its parent.
    drop(system.runtime().spawn(cell));
}
