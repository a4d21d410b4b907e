//! `message(..)` is on the type instead of the impl block.

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
