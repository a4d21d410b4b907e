//! A pool as a child, whose failure the table does not decide.

use supervise::pattern::Pool;
use supervise::prelude::*;

#[actor]
struct Worker;

#[actor]
impl Worker {}

#[actor]
#[supervise(on(Panic) = Restart)]
struct Shop {
    #[child(|_| Pool::round_robin(4, || Worker).props())]
    workers: Child<Pool<Worker>>,
}

#[actor]
impl Shop {}

fn main() {}
