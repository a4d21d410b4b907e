//! `shared` is a word of a durable mailbox, without a value and only there.

use supervise::prelude::*;

#[actor(mailbox = durable(shared = true, share))]
struct Orders;

#[actor]
impl Orders {}

#[actor(mailbox = durable(shared, shared))]
struct Twice;

#[actor]
impl Twice {}

#[actor(mailbox = bounded(10, shared))]
struct InMemory;

#[actor]
impl InMemory {}

#[actor(mailbox = shared)]
struct Alone;

#[actor]
impl Alone {}

fn main() {}
