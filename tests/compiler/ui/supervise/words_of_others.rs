//! Erlang's words.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(intensity = 3, period = "5s"), on(std::io::Error) = Retry)]
struct Library;

#[actor]
impl Library {}

fn main() {}
