//! `#[actor]` on a trait.

use supervise::prelude::*;

#[actor]
trait Feed {}

fn main() {}
