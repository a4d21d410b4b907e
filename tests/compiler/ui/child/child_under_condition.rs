//! A field that is a child in some builds only.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {
    #[handler]
    fn read(&self) {}
}

#[actor]
#[supervise(on(_) = Restart)]
struct Parent {
    #[cfg_attr(unix, child(|_| || Reader))]
    reader: Child<Reader>,
}

#[actor]
impl Parent {
    #[handler]
    fn read(&self) {}
}

fn main() {}
