//! A pool as a child, made like an actor.

use supervise::pattern::Pool;
use supervise::prelude::*;

#[actor]
struct Worker;

#[actor]
impl Worker {}

#[actor]
#[supervise(on(_) = Restart)]
struct Shop {
    #[child(|_| || Worker)]
    workers: Child<Pool<Worker>>,
}

#[actor]
impl Shop {}

fn main() {}
