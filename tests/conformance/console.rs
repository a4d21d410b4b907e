//! CON: what the log, the events and a look at the tree say about a running system.

mod failures;
mod line;
mod look;
