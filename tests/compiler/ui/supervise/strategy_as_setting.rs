//! A strategy that is set like a setting.

use supervise::prelude::*;

#[actor]
#[supervise(strategy = one_for_one, on(std::io::Error) = Restart)]
struct Library;

#[actor]
impl Library {}

fn main() {}
