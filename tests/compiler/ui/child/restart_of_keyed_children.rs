//! A restart type for keyed children.

use supervise::prelude::*;

#[actor]
struct Session;

#[actor]
impl Session {}

#[actor]
struct Shop {
    #[child(|_| |_: &u64| Session, restart = permanent)]
    sessions: Children<u64, Session>,
}

#[actor]
impl Shop {}

fn main() {}
