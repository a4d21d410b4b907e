//! The factory is missing before an option.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(restart = permanent)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
