//! A watch method without a `Terminated` parameter.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[watch]
    fn gone(&mut self) {}
}

fn main() {}
