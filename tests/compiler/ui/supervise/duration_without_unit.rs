//! A duration without a unit.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = 3, within = 60), on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
