//! A duration in words.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "a minute"), on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
