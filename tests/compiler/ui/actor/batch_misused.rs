//! Handlers that `batch` and `linger` do not fit.

#![allow(unused_variables)]

use std::time::Duration;

use supervise::prelude::*;

#[actor]
struct Writer;

#[actor]
impl Writer {
    #[handler(batch = 0)]
    fn none(&mut self, orders: Vec<u32>) {}

    #[handler(batch = 10)]
    fn two(&mut self, orders: Vec<u32>, at: Duration) {}

    #[handler(batch = 10)]
    fn nothing(&mut self) {}

    #[handler(batch = 10)]
    fn one(&mut self, order: u32) {}

    #[handler(linger = "10ms")]
    fn alone(&mut self, orders: Vec<u32>) {}

    #[handler(batch = 10, linger = "0s")]
    fn at_once(&mut self, orders: Vec<u32>) {}

    #[handler(batch = 10, inline)]
    fn inline(&mut self, orders: Vec<u32>) {}

    #[handler(batch = 10, redeliver = 3)]
    fn again(&mut self, orders: Vec<u32>) {}

    #[handler(batch = 10)]
    fn later(&mut self, orders: Vec<u32>, reply: ReplyTo<u32>) {}
}

fn main() {}
