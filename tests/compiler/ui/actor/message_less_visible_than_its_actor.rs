//! The actor is public and its messages are not.

use supervise::prelude::*;

#[actor]
pub struct Order;

#[actor(message(vis = pub(crate)))]
impl Order {
    #[handler]
    fn place(&mut self, item: String) -> usize {
        item.len()
    }
}

fn main() {}
