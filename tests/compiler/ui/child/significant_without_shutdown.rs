//! A significant child under a parent without `auto_shutdown`.

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
