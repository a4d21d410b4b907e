//! What actors written with the attributes do, on a paused clock.
//!
//! A test shows only what is special about it. The actors of a file are at its top.

#![allow(missing_docs, reason = "tests")]

#[path = "../conformance/log.rs"]
mod log;

mod alike;
mod blocked_child;
mod bounded;
mod evidence;
mod fair;
mod flow;
mod give_up;
mod give_up_hostile;
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
mod verdicts;
mod work;
