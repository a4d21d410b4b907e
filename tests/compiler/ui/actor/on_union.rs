//! `#[actor]` on a union.

use supervise::prelude::*;

#[actor]
union Feed {
    a: u8,
}

#[actor]
impl Feed {}

fn main() {}
