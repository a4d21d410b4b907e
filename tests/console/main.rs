//! Attacks on the console's server and on its actions, over real sockets. Rules 22.4, 22.5 and 22.7.

mod actions;
mod client;
mod server;
