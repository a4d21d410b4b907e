//! A permanent child that is significant.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
#[supervise(one_for_one(auto_shutdown = any_significant), on(_) = Default)]
struct Library {
    #[child(|_| || Reader, restart = permanent, significant)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
