//! An overflow that does not exist.

use supervise::prelude::*;

#[actor(mailbox = bounded(10, overflow = drop_latest))]
struct Feed;

#[actor]
impl Feed {}

fn main() {}
