//! An actor without an impl block.

use supervise::prelude::*;

#[actor]
struct Feed;

fn main() {}
