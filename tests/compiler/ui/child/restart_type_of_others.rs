//! The restart policy of a container.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader, restart = always)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
