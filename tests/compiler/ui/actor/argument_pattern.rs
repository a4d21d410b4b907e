//! A handler that takes its argument apart.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, (a, b): (u64, u64)) -> u64 {
        a + b
    }
}

fn main() {}
