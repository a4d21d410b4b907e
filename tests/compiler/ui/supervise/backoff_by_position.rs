//! A backoff whose arguments have no names.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(backoff("100ms", "10s")), on(std::io::Error) = Restart)]
struct Library;

#[actor]
impl Library {}

fn main() {}
