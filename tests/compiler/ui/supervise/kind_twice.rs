//! Panics decided twice.

use supervise::prelude::*;

#[actor]
#[supervise(on(Panic) = Stop, on(Panic | Killed) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
