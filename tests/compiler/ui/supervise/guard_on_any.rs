//! A guard on everything.

use supervise::prelude::*;

#[actor]
#[supervise(on(_ if |failure| true) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
