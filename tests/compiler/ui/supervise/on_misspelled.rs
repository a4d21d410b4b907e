//! A rule whose keyword is spelled wrong.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one, om(Panic) = Restart, on(_) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
