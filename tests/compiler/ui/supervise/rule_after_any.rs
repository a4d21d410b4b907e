//! A rule after `on(_)`.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Stop, on(std::io::Error) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
