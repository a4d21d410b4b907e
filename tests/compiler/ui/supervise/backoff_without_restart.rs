//! A backoff as a directive.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = backoff(min = "1s", max = "10s"))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
