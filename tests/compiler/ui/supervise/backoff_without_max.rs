//! A backoff without a cap.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(backoff(min = "10s")))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
