//! A rule without a directive.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error))]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
