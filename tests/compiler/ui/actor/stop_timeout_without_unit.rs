//! A duration without a unit.

use supervise::prelude::*;

#[actor(stop_timeout = 5)]
struct Feed;

#[actor]
impl Feed {}

fn main() {}
