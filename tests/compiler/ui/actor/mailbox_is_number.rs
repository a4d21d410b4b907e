//! A capacity in place of a mailbox.

use supervise::prelude::*;

#[actor(mailbox = 100)]
struct Counter;

#[actor]
impl Counter {}

fn main() {}
