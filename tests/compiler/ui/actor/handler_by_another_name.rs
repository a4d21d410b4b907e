//! A handler with kameo's attribute. Its caller gets no error.

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
