//! A pattern without `on`.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one, Panic = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
