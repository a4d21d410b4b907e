//! A delay without a backoff.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Restart(delay = "1s"))]
struct Library;

#[actor]
impl Library {}

fn main() {}
