//! Settings that are given twice.

use supervise::prelude::*;

#[actor(stop_timeout = 5s, mailbox = unbounded, stop_timeout = 1s)]
struct Feed;

#[actor]
impl Feed {
    #[handler(redeliver = 2, redeliver = 3)]
    fn fetch(&mut self) {}
}

fn main() {}
