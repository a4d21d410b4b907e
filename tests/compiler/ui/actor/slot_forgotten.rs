//! A slot that nobody uses leaves the asker without an answer.

#![deny(unused)]

use supervise::prelude::*;

#[actor]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn place(&mut self, order: u32, reply: ReplyTo<u32>) {
        assert!(order > 0);
    }

    #[handler]
    fn take(&mut self, order: u32, reply: ReplyTo<u32>) {
        reply;
        assert!(order > 0);
    }
}

fn main() {}
