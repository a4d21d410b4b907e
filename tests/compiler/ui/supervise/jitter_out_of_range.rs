//! A jitter above 1.0.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(backoff(min = "1s", max = "10s", jitter = 1.5)))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
