//! A directive that does not exist.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Restrat)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
