//! A container's restart policy.

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
