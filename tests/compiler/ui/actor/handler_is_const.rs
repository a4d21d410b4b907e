//! A handler that is called at compile time.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    const LIMIT: u8 = 1;
}

fn main() {}
