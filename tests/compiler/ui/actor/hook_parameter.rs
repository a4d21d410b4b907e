//! A hook with an unknown parameter.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[pre_start]
    fn open(&mut self, address: String) {
        let _ = address;
    }
}

fn main() {}
