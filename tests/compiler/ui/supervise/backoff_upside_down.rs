//! A backoff whose shortest delay is the longer one.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(backoff(min = "10s", max = "1s")))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
