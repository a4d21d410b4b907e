//! A setting that the actor does not have.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = self.retires), on(_) = Restart)]
struct Shop {
    retries: u32,
}

#[actor]
impl Shop {}

fn main() {}
