//! What was accepted is handled, in this process or in the next one.

use supervise::testkit::{Crash, TestSystem};

use crate::orders::{Does, World, order, that};

#[supervise::test]
async fn an_accepted_message_is_handled(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(order(1)).accepted().await.expect("the store works");
    assert_eq!(orders.place(order(2)).await.expect("it is handled"), 2);
    assert_eq!(world.begun(), [1, 2]);
    assert_eq!(orders.count().await.expect("transient messages are as ever"), (2, false));
}

#[supervise::test]
async fn dur_01_a_message_that_was_accepted_is_handled_by_the_next_process(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    system.settle().await;
    assert_eq!(world.begun(), [1]);
    let next = system.crash(Crash::Process).await;
    world.gate.notify_one();
    world.spawn(&next);
    next.settle().await;
    assert_eq!(world.begun(), [1, 1, 2]);
}
