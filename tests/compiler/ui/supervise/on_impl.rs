//! `#[supervise]` on an impl block.

use supervise::prelude::*;

#[actor]
struct Parent;

#[actor]
impl Parent {}

#[supervise(on(_) = Restart)]
impl Parent {}

fn main() {}
