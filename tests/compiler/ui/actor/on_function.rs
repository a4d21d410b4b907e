//! `#[actor]` on a function.

use supervise::prelude::*;

#[actor]
fn feed() {}

fn main() {}
