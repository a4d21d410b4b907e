//! A setting of `#[handler]` with one wrong letter.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler(not_influencial)]
    fn fetch(&mut self) {}
}

fn main() {}
