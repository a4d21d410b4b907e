//! Children in an enum's variants without field names.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
enum Library {
    Closed(Child<Reader>),
    Open(u32, #[child(|_| || Reader)] Child<Reader>, bool),
}

#[actor]
impl Library {}

fn main() {}
