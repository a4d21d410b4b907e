//! One closure where two are needed.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|| Reader)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
