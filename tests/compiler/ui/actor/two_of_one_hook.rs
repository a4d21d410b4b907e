//! Two `#[pre_start]` hooks.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[pre_start]
    fn open(&mut self) {}

    #[pre_start]
    fn connect(&mut self) {}
}

fn main() {}
