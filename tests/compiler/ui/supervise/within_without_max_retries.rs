//! A window without a limit.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(within = "60s"), on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
