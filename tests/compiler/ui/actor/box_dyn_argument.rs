//! A boxed trait object that may not be sent.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn run(&mut self, job: Box<dyn FnOnce()>) {
        job();
    }
}

fn main() {}
