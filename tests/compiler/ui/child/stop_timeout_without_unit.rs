//! A duration without a unit.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader, stop_timeout = 2)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
