//! The window of a rule without a number.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Restart(within = "5s"))]
struct Library;

#[actor]
impl Library {}

fn main() {}
