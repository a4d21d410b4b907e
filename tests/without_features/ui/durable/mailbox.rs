//! Durable mailboxes need a feature.

use supervise::prelude::*;

#[actor(mailbox = durable)]
struct Orders;

#[actor]
impl Orders {
    #[handler(transient)]
    fn count(&self) -> u32 {
        1
    }

    #[handler(stored_as = "place", also = ["put"])]
    fn place(&mut self) {}
}

fn main() {}
