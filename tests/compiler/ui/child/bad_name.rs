//! A name that is not valid.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader, name = "the reader")]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
