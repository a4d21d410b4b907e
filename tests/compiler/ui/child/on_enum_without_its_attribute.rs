//! A `Child<..>` in an enum, without `#[child]`.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
enum Library {
    Closed,
    Open { reader: Child<Reader> },
}

#[actor]
impl Library {}

fn main() {
    let _ = (Library::Closed, Library::Open { reader: Child::default() });
}
