//! A stored message goes to the store first, so its handler cannot run within the ask.

use supervise::prelude::*;

#[actor(mailbox = durable)]
struct Orders;

#[actor]
impl Orders {
    #[handler(inline)]
    fn count(&self) -> u32 {
        1
    }
}

fn main() {}
