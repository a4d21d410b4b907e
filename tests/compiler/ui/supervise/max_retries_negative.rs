//! Akka's spelling of no limit.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = -1), on(std::io::Error) = Restart)]
struct Library;

#[actor]
impl Library {}

fn main() {}
