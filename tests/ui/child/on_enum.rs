//! An enum has no fields that are always there.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
enum Library {
    Closed,
    Open {
        #[child(|_| || Reader)]
        reader: Child<Reader>,
    },
}

#[actor]
impl Library {}

fn main() {
    let _ = (Library::Closed, Library::Open { reader: Child::default() });
}
