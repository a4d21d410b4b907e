//! A kind of failure that is spelled wrong.

use supervise::prelude::*;

#[actor]
#[supervise(on(Panics) = Restart, on(deathpact) = Stop, on(_) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
