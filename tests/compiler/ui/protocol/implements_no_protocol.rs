//! `implements(..)` of something else, or written otherwise.

use supervise::prelude::*;

trait Plain {
    fn put(&self);
}

#[actor]
struct Database;

#[actor(implements(Plain))]
impl Database {
    #[handler]
    fn put(&self) {}
}

fn main() {}
