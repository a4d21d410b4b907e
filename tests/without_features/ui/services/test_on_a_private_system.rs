//! A test uses the testkit, whose feature is off.

use supervise::prelude::*;
use supervise::testkit::TestSystem;

#[actor]
struct Counter {
    count: u64,
}

#[actor]
impl Counter {
    #[handler]
    fn add(&mut self, number: u64) -> u64 {
        self.count += number;
        self.count
    }
}

#[supervise::test]
async fn counts(system: &TestSystem) {
    let counter = system.spawn("counter", || Counter { count: 0 }).unwrap();
    assert_eq!(counter.add(2).await, Ok(2));
}

fn main() {}
