//! The piece: a writer with one connection to the store.
//!
//! 1. An order is answered when it is in the store. Nobody waits longer than [`PATIENCE`].
//! 2. If the connection fails, the order that was being written fails. The others wait, while the writer connects again, after delays
//!    that grow from [`SHORTEST`] to [`LONGEST`].
//! 3. A panic fails its order and no other.
//! 4. [`ROOM`] orders wait at most. Others are refused at once.
//! 5. A stop writes what waits, and refuses what comes later.

pub(crate) mod actix;
pub(crate) mod kameo;
pub(crate) mod ractor;
pub(crate) mod raw;
pub(crate) mod supervise;

use std::net::SocketAddr;
use std::time::Duration;

pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
pub(crate) const SHORTEST: Duration = Duration::from_millis(20);
pub(crate) const LONGEST: Duration = Duration::from_millis(320);
pub(crate) const ROOM: usize = 64;

/// The delay after the next failure in a row.
pub(crate) fn longer(delay: Option<Duration>) -> Duration {
    delay.map_or(SHORTEST, |delay| LONGEST.min(delay * 2))
}

/// What the drill does with a piece.
pub(crate) trait Piece: Clone + Send + Sync + 'static {
    fn start(store: SocketAddr) -> impl Future<Output = Self> + Send;

    /// Returns whether the order was written.
    fn write(&self, order: u64) -> impl Future<Output = bool> + Send;

    fn stop(self) -> impl Future<Output = ()> + Send;
}
