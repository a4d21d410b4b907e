//! A limit that names a variable, which a table cannot use.

use std::time::Duration;

use supervise::prelude::*;

fn main() {
    let _window = Duration::from_secs(1);

    #[actor]
    #[supervise(one_for_one(max_retries = 3, within = window), on(_) = Restart)]
    struct Shop;

    #[actor]
    impl Shop {}
}
