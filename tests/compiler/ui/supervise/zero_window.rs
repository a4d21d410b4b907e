//! A window of zero length.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "0s"), on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
