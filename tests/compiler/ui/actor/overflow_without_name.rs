//! An overflow without `overflow =`.

use supervise::prelude::*;

#[actor(mailbox = bounded(100, drop_oldest))]
struct Counter;

#[actor]
impl Counter {}

fn main() {}
