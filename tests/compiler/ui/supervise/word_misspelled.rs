//! Words that are spelled wrong.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1s", window = slidin, on_limit = stop, count = childs, log = warning), on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
