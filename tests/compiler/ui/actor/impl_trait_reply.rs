//! A handler that returns `impl Trait`.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, id: u64) -> impl Iterator<Item = u64> {
        0..id
    }
}

fn main() {}
