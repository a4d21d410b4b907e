//! A guarded rule alone.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error if |error| error.kind() == std::io::ErrorKind::TimedOut) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
