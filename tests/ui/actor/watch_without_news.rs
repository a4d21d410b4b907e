//! A watch method that does not say whose end it handles.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[watch]
    fn gone(&mut self) {}
}

fn main() {}
