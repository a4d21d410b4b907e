//! A misspelled option.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader, restrat = permanent)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
