//! A message that cannot go to another thread.

use supervise::prelude::*;

use std::rc::Rc;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, id: Rc<u64>) -> u64 {
        *id
    }
}

fn main() {}
