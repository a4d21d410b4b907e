//! `redeliver` with an argument that is not `Clone`.

use supervise::prelude::*;

struct Id;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler(redeliver = 3)]
    fn fetch(&mut self, id: Id, times: u64) {
        let _ = (id, times);
    }
}

fn main() {}
