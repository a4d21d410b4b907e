//! An idle time for a child that has no key.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Office {
    #[child(|_| || Reader, idle = "5m")]
    reader: Child<Reader>,
}

#[actor]
impl Office {}

fn main() {}
