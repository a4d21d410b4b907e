//! Durable mailboxes on the test's clock, with a store in memory. The cases are named after the list DUR-01 to DUR-44.
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
mod remote;
mod senders;
mod shared;
mod sharers;
mod stumbling;
mod suspects;
