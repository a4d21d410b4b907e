//! An argument given twice, and two backoffs.

use supervise::prelude::*;

#[actor]
#[supervise(
    one_for_one(
        max_retries = 3,
        max_retries = 5,
        backoff(min = 1s, max = 10s),
        linear_backoff(window = 10s, initial = 1s),
    ),
    on(_) = Restart,
)]
struct Library;

#[actor]
impl Library {}

fn main() {}
