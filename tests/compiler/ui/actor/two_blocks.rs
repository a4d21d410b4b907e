//! Handlers in two impl blocks.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}
}

#[actor]
impl Feed {
    #[handler]
    fn refresh(&mut self) {}
}

fn main() {}
