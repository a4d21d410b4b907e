//! An empty block makes an actor without messages.
#![deny(warnings)]
#![allow(dead_code, reason = "the program shows what compiles")]

use supervise::prelude::*;

#[actor]
#[derive(Debug)]
struct Silent;

#[actor]
impl Silent {}

fn main() {
    let _ = Silent;
}
