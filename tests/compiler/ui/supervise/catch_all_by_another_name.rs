//! The rule for everything else, without `on(_)`.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Restart, default = Stop)]
struct Library;

#[actor]
impl Library {}

fn main() {}
