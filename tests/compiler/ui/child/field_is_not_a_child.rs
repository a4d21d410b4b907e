//! The field holds the actor itself.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader)]
    reader: Reader,
}

#[actor]
impl Library {}

fn main() {}
