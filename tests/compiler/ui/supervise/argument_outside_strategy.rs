//! Arguments of the strategy at the top level.

use supervise::prelude::*;

#[actor]
#[supervise(max_retries = 3, within = "60s", on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
