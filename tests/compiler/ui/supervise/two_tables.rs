//! Two tables.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Restart)]
#[supervise(on(_) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
