//! A hook that returns a value.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[post_stop]
    fn close(&mut self) -> u64 {
        1
    }
}

fn main() {}
