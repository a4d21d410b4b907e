//! A bounded mailbox without any room.

use supervise::prelude::*;

#[actor(mailbox = bounded(0))]
struct Feed;

#[actor]
impl Feed {}

fn main() {}
