//! A setting that takes no value.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler(not_influencing = true)]
    fn fetch(&mut self) {}
}

fn main() {}
