//! A flag with a value.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
#[supervise(one_for_one(auto_shutdown = any_significant), on(_) = Default)]
struct Library {
    #[child(|_| || Reader, significant = true)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
