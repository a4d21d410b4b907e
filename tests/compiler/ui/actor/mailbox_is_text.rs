//! A mailbox in quotes.

use supervise::prelude::*;

#[actor(mailbox = "unbounded")]
struct Counter;

#[actor]
impl Counter {}

fn main() {}
