//! A rule looks into an error that is a struct.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("status {0}")]
struct Status(u16);

#[actor]
#[supervise(on(Status(500..)) = Restart, on(_) = Stop)]
struct Client;

#[actor]
impl Client {}

fn main() {}
