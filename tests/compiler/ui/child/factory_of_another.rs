//! The factory makes another actor than the field says.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Library { reader: Child::default() })]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
