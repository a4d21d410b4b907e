//! The words of a durable mailbox and of its handlers.

use supervise::prelude::*;

#[actor(mailbox = durable(capacity = 0, windows = 8, crashes = "3"))]
struct Orders;

#[actor]
impl Orders {
    #[handler(transient, stored_as = "place")]
    fn place(&mut self) {}

    #[handler(stored_as = "")]
    fn nothing(&mut self) {}

    #[handler(also = "pay_back")]
    fn refund(&mut self) {}

    #[handler(also = ["refund"])]
    fn again(&mut self) {}
}

fn main() {}
