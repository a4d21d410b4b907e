//! An argument of the strategy that does not exist.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retrys = 3), on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
