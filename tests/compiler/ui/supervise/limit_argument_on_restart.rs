//! An argument of the strategy at the directive.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Restart(on_limit = Escalate))]
struct Library;

#[actor]
impl Library {}

fn main() {}
