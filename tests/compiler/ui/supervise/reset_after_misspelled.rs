//! `manual`, spelled wrong.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(backoff(min = "1s", max = "2s", reset_after = manuel)))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
