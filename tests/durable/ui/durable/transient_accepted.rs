//! A transient message is never accepted.

use supervise::prelude::*;

#[actor(mailbox = durable)]
struct Orders;

#[actor]
impl Orders {
    #[handler(transient)]
    fn count(&self) -> u32 {
        1
    }
}

async fn asks(orders: OrdersRef) {
    let _ = orders.count().accepted().await;
}

fn main() {}
