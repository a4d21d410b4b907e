//! An unknown directive.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Ignore)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
