//! A restart type that is a directive.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader, restart = Restart)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
