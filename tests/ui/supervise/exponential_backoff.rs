//! `exponential_backoff` is the old name of `linear_backoff`: rustc warns where it is written.

#![deny(deprecated)]

use supervise::prelude::*;

#[actor]
#[supervise(
    one_for_one(exponential_backoff(window = "10s", initial = "1s")),
    on(std::io::Error) = Restart(exponential_backoff(window = "10s", initial = "100ms")),
    on(_) = Restart,
)]
struct Library;

#[actor]
impl Library {}

fn main() {}
