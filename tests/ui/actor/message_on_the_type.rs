//! What the messages look like is said on the type.

use supervise::prelude::*;

#[actor(message(derive(Clone)))]
struct Order;

#[actor]
impl Order {
    #[handler]
    fn place(&mut self, item: String) -> usize {
        item.len()
    }
}

fn main() {}
