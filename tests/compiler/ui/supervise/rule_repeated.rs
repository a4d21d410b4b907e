//! Rules that match the same failures, with the same directive.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Stop, on(std::io::Error) = Stop)]
struct Library;

#[actor]
impl Library {}

#[actor]
#[supervise(on(Panic) = Restart, on(Panic) = Restart(backoff(min = "1s", max = "10s")))]
struct Shop;

#[actor]
impl Shop {}

fn main() {}
