//! A rule names the trait of all errors by its full path.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::error::Error) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
