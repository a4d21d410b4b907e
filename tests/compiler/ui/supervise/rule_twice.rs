//! The same rule twice.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Stop, on(std::io::Error) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
