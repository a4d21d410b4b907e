//! The conformance cases, by id. `README.md` beside this file says where the ids come from.

mod dead_letters;
mod death_watch;
mod derived;
mod fixture;
mod guardians;
mod hierarchies;
mod initialization;
mod lifecycle;
mod limits;
mod log;
mod mailbox;
mod names;
mod proto;
mod selection;
mod stop;
mod supervision;
mod walkthrough;
