//! Durable mailboxes on the test's clock, with a store in memory.
//!
//! The names `dur_..` are cases of the list DUR-01 to DUR-48. Cases that need files are in `tests/durable_sqlite`, and those that need
//! a server are in `tests/durable_jetstream`.
//!
//! Rules 27.1 and the others of that section.

mod abuse;
mod accepting;
mod bounds;
mod crashes;
mod edges;
mod ends;
mod failures;
mod groups;
mod keep;
#[path = "../conformance/log.rs"]
mod log;
mod misuse;
mod names;
mod orders;
mod outages;
mod owners;
mod quarantine;
mod random;
mod remote;
mod senders;
mod shared;
mod sharers;
mod stash;
mod stumbling;
mod suspects;
