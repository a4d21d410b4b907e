//! A number where a duration belongs.

use supervise::prelude::*;

const WINDOW: u64 = 60;

#[actor]
#[supervise(one_for_one(max_retries = 3, within = WINDOW), on(_) = Restart)]
struct Shop;

#[actor]
impl Shop {}

fn main() {}
