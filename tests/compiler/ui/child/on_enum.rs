//! A child on a field of an enum.

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
