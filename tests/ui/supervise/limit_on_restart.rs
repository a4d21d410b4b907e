//! A limit at the directive.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Restart(max_retries = 3, within = "5s"))]
struct Library;

#[actor]
impl Library {}

fn main() {}
