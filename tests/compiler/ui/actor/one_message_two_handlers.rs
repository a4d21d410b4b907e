//! Two handlers whose messages would have one name.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch_all(&mut self) {}

    #[handler]
    #[allow(non_snake_case)]
    fn fetchAll(&mut self) {}
}

fn main() {}
