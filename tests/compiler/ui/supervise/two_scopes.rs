//! Two strategies of different kinds.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one, all_for_one, on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
