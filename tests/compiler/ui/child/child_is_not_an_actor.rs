//! The child's type has no `#[actor]`.

use supervise::prelude::*;

struct Reader;

#[actor]
struct Library {
    #[child(|_| || Reader)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

fn main() {
    let _ = Library { reader: Child::default() };
}
