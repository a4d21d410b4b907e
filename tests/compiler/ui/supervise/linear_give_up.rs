//! A linear backoff counts within a window, and has no limit in time.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(linear_backoff(window = "10s", initial = "1s", give_up_after = "10m")))]
struct Shop;

#[actor]
impl Shop {}

fn main() {}
