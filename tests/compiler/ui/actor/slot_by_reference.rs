//! Answering consumes the reply slot.

use supervise::prelude::*;

#[actor]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn place(&mut self, order: u32, reply: &mut ReplyTo<u32>) {
        let _ = (order, reply);
    }
}

fn main() {}
