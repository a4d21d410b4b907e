//! `#[actor]` on the impl of a trait.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {}

#[actor]
impl Default for Feed {
    fn default() -> Self {
        Feed
    }
}

fn main() {}
