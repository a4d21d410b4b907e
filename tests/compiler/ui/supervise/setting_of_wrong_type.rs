//! A setting of another type than the argument's.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_one(max_retries = self.retries), on(_) = Restart)]
struct Shop {
    retries: String,
}

#[actor]
impl Shop {}

fn main() {}
