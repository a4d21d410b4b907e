//! A pool as a declared child.

use supervise::pattern::Pool;
use supervise::prelude::*;

#[actor]
struct Worker;

#[actor]
impl Worker {}

#[actor]
#[supervise(on(_) = Restart)]
struct Gateway {
    #[child(|_| || Pool::round_robin(4, || Worker).props())]
    workers: Child<Pool<Worker>>,
}

#[actor]
impl Gateway {}

fn main() {}
