//! A hook that is also a handler.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[pre_start]
    #[handler]
    fn open(&mut self) {}
}

fn main() {}
