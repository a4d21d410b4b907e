//! A strategy that does not exist.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_al, on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
