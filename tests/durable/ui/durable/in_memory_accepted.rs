//! `accepted` is called for an actor whose mailbox is in memory.

use supervise::prelude::*;

#[actor]
struct Orders;

#[actor]
impl Orders {
    #[handler]
    fn place(&mut self, number: u32) {
        drop(number);
    }
}

async fn asks(orders: OrdersRef) {
    let _ = orders.place(1).accepted().await;
}

fn main() {}
