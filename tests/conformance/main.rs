//! The conformance cases, by id. `README.md` beside this file says where the ids come from.

#![expect(clippy::unused_self, reason = "a handler takes `self` whether it needs it or not")]

mod backoff_supervisor;
mod dead_letters;
mod death_watch;
mod derived;
mod field;
mod fixture;
mod guardians;
mod hierarchies;
mod initialization;
mod lifecycle;
mod limits;
mod log;
mod mailbox;
mod names;
mod otp;
mod pool;
mod proto;
mod selection;
mod shutdown;
mod stash;
mod stop;
mod supervision;
mod system;
mod timers;
mod walkthrough;
