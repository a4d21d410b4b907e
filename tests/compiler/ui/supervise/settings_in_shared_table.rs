//! Settings in a table that has no supervisor.

use supervise::prelude::*;

#[supervise(one_for_one(max_retries = self.settings.retries), on(_) = Restart)]
struct Storage;

fn main() {}
