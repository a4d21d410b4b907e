//! Several mistakes: each is reported.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, name: &str, id: impl Into<u64>) {
        let _ = (name, id.into());
    }

    #[pre_strat]
    fn open(&mut self) {}

    #[post_stop]
    fn close(self) {}
}

fn main() {}
