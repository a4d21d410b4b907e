//! A handler that takes its reply slot returns no reply: nothing, or a failure.

use supervise::prelude::*;

#[actor]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn place(&mut self, order: u32, reply: ReplyTo<u32>) -> u32 {
        reply.answer(order);
        order
    }

    #[handler]
    fn other(&mut self, order: u32, reply: ReplyTo<u32>) -> String {
        reply.answer(order);
        String::new()
    }

    #[handler]
    fn fallible(&mut self, order: u32, reply: ReplyTo<u32>) -> Result<u32, std::io::Error> {
        reply.answer(order);
        Ok(order)
    }

    #[handler]
    fn wrapped(&mut self, order: u32, reply: ReplyTo<u32>) -> Reply<u32> {
        reply.answer(order);
        Reply(order)
    }

    #[handler]
    fn alias(&mut self, order: u32, reply: ReplyTo<u32>) -> std::io::Result<u32> {
        reply.answer(order);
        Ok(order)
    }
}

fn main() {}
