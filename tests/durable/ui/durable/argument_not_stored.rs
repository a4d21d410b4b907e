//! Every argument of a stored handler is encoded.

use supervise::prelude::*;

struct Socket;

#[actor(mailbox = durable)]
struct Orders;

#[actor]
impl Orders {
    #[handler]
    fn place(&mut self, socket: Socket) {
        drop(socket);
    }

    #[handler]
    fn count(&mut self, number: u32) -> u32 {
        number
    }
}

fn main() {}
