//! A misspelled restart type.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader, restart = permanant)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
