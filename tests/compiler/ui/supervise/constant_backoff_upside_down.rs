//! Constants that contradict each other.

use std::time::Duration;

use supervise::prelude::*;

const MIN: Duration = Duration::from_secs(10);

#[actor]
#[supervise(on(_) = Restart(backoff(min = MIN, max = "1s")))]
struct Shop;

#[actor]
impl Shop {}

fn main() {}
