//! Limits by Akka's spelling of no limit, with and without other arguments.

use supervise::prelude::*;

#[actor]
#[supervise(all_for_one(max_retries = -1, within = "1m"), on(std::io::Error) = Restart)]
struct Library;

#[actor]
impl Library {}

#[actor]
#[supervise(on(std::io::Error) = Restart(max_retries = -1))]
struct Shop;

#[actor]
impl Shop {}

fn main() {}
