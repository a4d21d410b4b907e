//! A mailbox that takes nothing.

use supervise::prelude::*;

#[actor(mailbox = bounded(0))]
struct Feed;

#[actor]
impl Feed {}

fn main() {}
