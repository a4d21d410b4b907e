//! A guard that is not a closure.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error if true) = Restart, on(_) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
