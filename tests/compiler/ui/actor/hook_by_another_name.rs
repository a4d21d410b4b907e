//! A hook as actix spells it.

use supervise::prelude::*;

#[actor]
struct Counter;

#[actor]
impl Counter {
    #[started]
    fn start(&mut self) {}
}

fn main() {}
