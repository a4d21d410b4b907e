//! Actors of other nodes: many systems in one process, over a network in memory, on a paused clock.
//!
//! The names are those of the cases `REM-01` to `REM-68`. Cases that need a process of their own are not here:
//! SIGSTOP, certificates.

mod console;
mod fixture;
mod full;
mod full_hostile;
mod limits;
mod lines;
#[path = "../conformance/log.rs"]
mod log;
mod messages;
mod names;
mod refs;
mod sharded;
mod told;
mod verdict;
mod watch;
