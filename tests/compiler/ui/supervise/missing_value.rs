//! An unfinished rule.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) =, on(_) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
