//! A durable mailbox loses nothing.

use supervise::prelude::*;

#[actor(mailbox = durable(capacity = 10, overflow = drop_oldest))]
struct Orders;

#[actor]
impl Orders {}

fn main() {}
