//! A child would be given up at its second failure in a long time.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(backoff(min = "1s", max = "30s", give_up_after = "30s")))]
struct Shop;

#[actor]
impl Shop {}

#[actor]
#[supervise(one_for_one(backoff(min = "1s", max = "10s", reset_after = "5m", give_up_after = "1m")), on(_) = Restart)]
struct Market;

#[actor]
impl Market {}

fn main() {}
