//! `#[supervise]` on a struct without `#[actor]`.

use supervise::prelude::*;

#[supervise(on(_) = Restart)]
struct Parent;

fn main() {}
