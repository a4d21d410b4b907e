//! What actors written with the attributes do, on a paused clock.
//!
//! A test shows only what differs; the actors of a file stand on top of it.

#![allow(missing_docs, reason = "tests")]

mod bounded;
mod inline;
mod port;
mod redelivery;
mod stash;
mod timers;
mod tree;
