//! A field has the type of a pool's worker, and its closure makes the pool.

use supervise::pattern::Pool;
use supervise::prelude::*;

#[actor]
struct Worker;

#[actor]
impl Worker {}

#[actor]
#[supervise(on(_) = Restart)]
struct Shop {
    #[child(|_| Pool::round_robin(4, || Worker).props())]
    props: Child<Worker>,
    #[child(|_| || Pool::round_robin(4, || Worker))]
    pool: Child<Worker>,
}

#[actor]
impl Shop {}

fn main() {}
