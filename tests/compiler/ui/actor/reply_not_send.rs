//! A reply that cannot go to another thread.

use supervise::prelude::*;

use std::rc::Rc;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, id: u64) -> Rc<u64> {
        Rc::new(id)
    }
}

fn main() {}
