//! A setting of the type on the impl block.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor(mailbox = unbounded)]
impl Feed {}

fn main() {}
