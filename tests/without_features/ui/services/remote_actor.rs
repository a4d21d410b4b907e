//! An actor with `remote`, whose feature is off.

use supervise::actor;

#[actor]
struct Feed;

#[actor(remote)]
impl Feed {
    #[handler]
    fn add(&mut self, count: u64) {
        let _ = count;
    }
}

fn main() {}
