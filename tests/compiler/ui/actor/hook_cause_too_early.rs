//! `#[pre_start]` has no cause.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[pre_start]
    fn open(&mut self, cause: &Failure) {
        let _ = cause;
    }
}

fn main() {}
