//! `#[supervise]` on something that is no actor.

use supervise::prelude::*;

#[supervise(on(_) = Restart)]
struct Parent;

fn main() {}
