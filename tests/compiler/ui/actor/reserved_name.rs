//! A handler called like a method of every ref.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn clone(&self) -> u64 {
        1
    }
}

fn main() {}
