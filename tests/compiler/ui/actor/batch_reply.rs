//! A batch is answered with one reply for each message.

use std::io;

use supervise::prelude::*;

#[actor]
struct Writer;

#[actor]
impl Writer {
    #[handler(batch = 10)]
    fn count(&mut self, orders: Vec<u32>) -> usize {
        orders.len()
    }

    #[handler(batch = 10)]
    fn alias(&mut self, orders: Vec<u32>) -> io::Result<u32> {
        Ok(1)
    }

    #[handler(batch = 10)]
    fn hidden(&mut self, orders: Vec<u32>) -> Vec<Result<u32, io::Error>> {
        Vec::new()
    }
}

fn main() {}
