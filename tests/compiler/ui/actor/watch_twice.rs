//! Two watch methods for one actor type.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[watch]
    fn gone(&mut self, gone: Terminated<Feed>) {
        let _ = gone;
    }

    #[watch]
    fn lost(&mut self, gone: Terminated<Feed>) {
        let _ = gone;
    }
}

fn main() {}
