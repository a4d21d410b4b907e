//! A declared child's factory can fail with something its parent's table does not name.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
#[supervise(on(std::fmt::Error) = Restart)]
struct Library {
    #[child(|_| || -> std::io::Result<Reader> { Ok(Reader) })]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {
    let _ = Library { reader: Child::default() };
}
