//! Rules inside the strategy's parentheses.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(on(Panic) = Restart))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
