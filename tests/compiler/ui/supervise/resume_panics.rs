//! Resuming panics by accident.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Resume)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
