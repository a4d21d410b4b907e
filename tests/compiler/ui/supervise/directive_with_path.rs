//! A directive by its path.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::io::Error) = Directive::Restart)]
struct Library;

#[actor]
impl Library {}

fn main() {}
