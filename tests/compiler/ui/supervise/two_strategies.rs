//! Two strategies.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = 1), one_for_one(max_retries = 2), on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
