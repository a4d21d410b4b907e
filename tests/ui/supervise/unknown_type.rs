//! A rule for a type that does not exist.

use supervise::prelude::*;

#[actor]
#[supervise(on(IoEror) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
