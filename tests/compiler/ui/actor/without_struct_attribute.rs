//! An impl block whose type has no `#[actor]`.

use supervise::prelude::*;

struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) {}
}

fn main() {}
