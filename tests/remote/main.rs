//! Actors of other nodes: many systems in one process, over a network in memory, on a paused clock.
//!
//! The names are those of the cases `REM-01` to `REM-44`. What needs a process of its own is not here: SIGSTOP, a certificate.

mod fixture;
mod limits;
mod messages;
mod names;
mod refs;
mod sharded;
mod verdict;
mod watch;
