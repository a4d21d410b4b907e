//! A significant child under a parent that its end cannot end.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library {
    #[child(|_| || Reader, significant)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {}
