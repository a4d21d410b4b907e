//! The closure returns the actor, not its factory.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| Reader)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
