//! Two children of one name.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader)]
    reader: Child<Reader>,
    #[child(|_| || Reader, name = "reader")]
    other: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
