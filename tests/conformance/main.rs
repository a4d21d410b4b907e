//! The conformance cases, by id. `README.md` beside this file says where the ids come from.

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
mod proto;
mod selection;
mod stash;
mod stop;
mod supervision;
mod timers;
mod walkthrough;
