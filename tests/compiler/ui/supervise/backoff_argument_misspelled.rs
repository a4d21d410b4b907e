//! A backoff with a misspelled argument.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(backoff(min = "1s", maxx = "2s")))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
