//! `#[supervise]` on a function.

use supervise::prelude::*;

#[supervise(on(_) = Restart)]
fn parent() {}

fn main() {}
