//! CON: what the log, the events, a look at the tree and the console say about a running system.

mod by_hand;
mod cards;
mod failures;
mod line;
mod look;
mod server;
mod waits;
