//! A handler as kameo spells it. Who calls it is not wrong.

use supervise::prelude::*;

#[actor]
struct Counter {
    count: u32,
}

#[actor]
impl Counter {
    #[message]
    fn increment(&mut self) -> u32 {
        self.count += 1;
        self.count
    }
}

async fn count(counter: &CounterRef) -> u32 {
    counter.increment().await.unwrap()
}

fn main() {}
