//! The conformance cases, by id. `README.md` beside this file says where the ids come from.

mod fixture;
mod hierarchies;
mod initialization;
mod lifecycle;
mod limits;
mod log;
mod supervision;
mod walkthrough;
