//! A delay that is no backoff.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Restart(delay = "1s"))]
struct Library;

#[actor]
impl Library {}

fn main() {}
