//! A delay that is spelled wrong.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(backof(min = "1s", max = "2s")))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
