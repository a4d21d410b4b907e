//! An arrow, as in `match`.

use supervise::prelude::*;

#[actor]
#[supervise(on(Panic) => Restart, on(_) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
