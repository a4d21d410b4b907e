//! What actors written with the attributes do, on a paused clock.
//!
//! A test shows only what differs; the actors of a file stand on top of it.

#![allow(missing_docs, reason = "tests")]

#[path = "../conformance/log.rs"]
mod log;

mod blocked_child;
mod bounded;
mod evidence;
mod fair;
mod flow;
mod inline;
mod messages;
mod parallel;
mod port;
mod protocols;
mod redelivery;
mod replies;
mod runtime;
mod slices;
mod stash;
mod tables;
mod testkit;
mod thread_end;
mod timers;
mod topics;
mod tree;
mod work;
