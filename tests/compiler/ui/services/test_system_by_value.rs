//! A test takes its system by value.

use supervise::prelude::*;
use supervise::testkit::TestSystem;

#[derive(Debug, thiserror::Error)]
#[error("the counter is full")]
struct Full;

#[actor]
struct Counter {
    count: u8,
}

#[actor]
impl Counter {
    #[handler]
    fn count(&mut self) -> Result<u8, Full> {
        self.count = self.count.checked_add(1).ok_or(Full)?;
        Ok(self.count)
    }
}

#[actor]
#[supervise(one_for_one, on(Full) = Restart)]
struct Gate {
    #[child(|_| || Counter { count: 0 })]
    counter: Child<Counter>,
}

#[actor]
impl Gate {
    #[handler]
    async fn pass(&self) -> Result<u8, AskError> {
        self.counter.actor().count().await
    }
}

#[supervise::test]
async fn a_gate_counts(system: TestSystem) {
    let gate = system.spawn("gate", || Gate { counter: Child::default() }).unwrap();
    assert_eq!(gate.pass().await.unwrap(), 1);
    system.settle().await;
}

fn main() {}
