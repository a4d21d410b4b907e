//! An actor that cannot move between threads.

use supervise::prelude::*;

#[actor]
struct Feed {
    shared: std::rc::Rc<u8>,
}

#[actor]
impl Feed {}

fn main() {}
