//! A child without a factory.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
