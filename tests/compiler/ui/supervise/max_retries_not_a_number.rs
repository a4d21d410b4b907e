//! A limit that is not a number.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = unlimited), on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
