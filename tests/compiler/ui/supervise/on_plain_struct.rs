//! `#[supervise]` on a struct without `#[actor]`.

use supervise::prelude::*;

#[supervise(on(_) = Restart)]
struct Parent {
    children: u32,
}

fn main() {}
