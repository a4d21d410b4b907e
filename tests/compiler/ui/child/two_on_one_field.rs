//! Two children for one field.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader)]
    #[child(|_| || Reader)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
