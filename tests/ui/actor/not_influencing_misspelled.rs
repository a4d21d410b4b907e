//! A near miss.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler(not_influencial)]
    fn fetch(&mut self) {}
}

fn main() {}
