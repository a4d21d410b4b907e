//! A constant that is not allowed.

use std::time::Duration;

use supervise::prelude::*;

const WINDOW: Duration = Duration::ZERO;

#[actor]
#[supervise(one_for_one(max_retries = 3, within = WINDOW), on(_) = Restart)]
struct Shop;

#[actor]
impl Shop {}

fn main() {}
