//! A hook with a parameter that nobody can fill.

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
