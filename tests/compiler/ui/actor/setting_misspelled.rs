//! A setting that is spelled wrong.

use supervise::prelude::*;

#[actor(mailbx = unbounded, stoptimeout = "1s")]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}
}

fn main() {}
