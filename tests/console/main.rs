//! Attacks on the console's server and on its actions, over real sockets, the rules that it marks, and what its text says. Rules 22.4, 22.5, 22.7 and 22.10.

mod actions;
mod clerk;
mod client;
mod given_up;
mod healthy;
mod lines;
#[path = "../conformance/log.rs"]
mod log;
mod outages;
mod patterns;
mod random;
mod rules;
mod server;
mod text;
