//! An empty block makes an actor without messages.
#![deny(warnings)]

use supervise::prelude::*;

#[actor]
#[derive(Debug)]
struct Silent;

#[actor]
impl Silent {}

fn main() {
    let _ = Silent;
}
