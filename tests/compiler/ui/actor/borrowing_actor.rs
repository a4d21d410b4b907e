//! An actor that borrows.

use supervise::prelude::*;

#[actor]
struct Feed<'a> {
    name: &'a str,
}

#[actor]
impl Feed<'_> {}

fn main() {}
