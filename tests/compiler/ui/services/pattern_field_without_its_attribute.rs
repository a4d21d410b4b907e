//! The field of a pattern has no `#[child(..)]`.

use supervise::pattern::{CircuitBreaker, Pool};
use supervise::prelude::*;

#[actor]
struct Uplink;

#[actor]
impl Uplink {}

#[actor]
struct Worker<T: Send + 'static>(std::marker::PhantomData<T>);

#[actor]
impl<T: Send + 'static> Worker<T> {}

#[actor]
#[supervise(on(_) = Restart)]
struct Spool {
    uplink: Child<CircuitBreaker<Uplink>>,
    workers: Child<Pool<Worker<u32>>>,
    worker: Child<Worker<u32>>,
}

#[actor]
impl Spool {}

fn main() {}
