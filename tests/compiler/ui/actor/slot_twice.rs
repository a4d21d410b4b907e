//! A handler has one asker.

use supervise::prelude::*;

#[actor]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn place(&mut self, one: ReplyTo<u32>, other: ReplyTo<u32>) {
        one.answer(1);
        other.answer(2);
    }

    #[handler]
    fn untyped(&mut self, reply: ReplyTo) {
        drop(reply);
    }
}

fn main() {}
