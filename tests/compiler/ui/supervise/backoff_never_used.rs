//! A backoff in a table that never restarts.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(backoff(min = "1s", max = "10s")), on(_) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
