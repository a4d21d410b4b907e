//! The old name of `linear_backoff`, which still works but is deprecated.

#![deny(deprecated)]

use supervise::prelude::*;

#[actor]
#[supervise(
    one_for_one(exponential_backoff(window = "10s", initial = "100ms")),
    on(std::io::Error) = Restart(exponential_backoff(window = "1s", initial = "10ms")),
    on(_) = Restart(linear_backoff(window = "1s", initial = "10ms")),
)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
