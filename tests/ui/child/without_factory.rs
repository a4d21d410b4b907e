//! Nothing says how the child is made.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
