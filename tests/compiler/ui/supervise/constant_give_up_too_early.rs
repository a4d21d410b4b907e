//! Constants that contradict each other.

use std::time::Duration;

use supervise::prelude::*;

const PATIENCE: Duration = Duration::from_secs(10);

#[actor]
#[supervise(on(_) = Restart(backoff(min = "1s", max = "30s", give_up_after = PATIENCE)))]
struct Shop;

#[actor]
impl Shop {}

fn main() {}
