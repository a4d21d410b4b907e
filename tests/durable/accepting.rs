//! Accepted messages are handled in order, in this process or in the next one.
//!
//! Rules 27.1, 27.2, 27.3, 27.4 and 27.13.

use supervise::AskError;
use supervise::durable::AcceptError;
use supervise::testkit::{Crash, Fault, TestSystem};

use crate::orders::{Does, OrdersMessage, World, order, that};

#[supervise::test]
async fn an_accepted_message_is_handled(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(order(1)).accepted().await.expect("the store works");
    assert_eq!(orders.place(order(2)).await.expect("it is handled"), 2);
    orders.place(order(3)).send().await.expect("the store works");
    orders.actor_ref().tell(OrdersMessage::Place { order: order(4) }).expect("there is room");
    let answer = orders.place(order(5)).ask().expect("there is room");
    assert_eq!(answer.await.expect("it is handled"), 5);
    assert_eq!(world.begun(), [1, 2, 3, 4, 5]);
    let row = &system.store().queues().await.expect("the store works")[0];
    assert_eq!((row.name.as_str(), row.quarantined), ("/user/orders", 0));
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

#[supervise::test]
async fn dur_07_what_was_told_and_what_was_accepted_is_handled_in_that_order(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    for number in (1..100).step_by(2) {
        orders.place(order(number)).tell().expect("there is room");
        orders.place(order(number + 1)).accepted().await.expect("the store works");
    }
    system.settle().await;
    assert!(world.begun().into_iter().eq(1..=100));
}

#[supervise::test]
async fn dur_28_a_group_whose_sync_failed_is_unknown_and_the_same_key_is_handled_once(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    system.settle().await;
    system.store().fail(Fault::Sync);
    let unknown = orders.place(order(1)).key("first").accepted().await.expect_err("nobody knows");
    assert!(matches!(unknown, AcceptError::Unknown(_)), "{unknown}");
    let down = orders.place(order(2)).accepted().await.expect_err("the store is being opened");
    assert!(matches!(down, AcceptError::StoreDown(_)), "{down}");
    system.advance(std::time::Duration::from_secs(2)).await;
    orders.place(order(1)).key("first").accepted().await.expect("the store works again");
    system.settle().await;
    assert_eq!(world.begun(), [1]);
    assert_eq!(orders.place(order(3)).await.expect("it is handled"), 3);
}

#[supervise::test]
async fn dur_27_a_full_store_says_so_and_handling_goes_on(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    system.store().fail(Fault::Full);
    let full = orders.place(order(3)).accepted().await.expect_err("there is no room");
    assert!(matches!(full, AcceptError::Full(_)), "{full}");
    let asked = orders.place(order(4)).await.expect_err("there is no room");
    assert!(matches!(asked, AskError::NotAccepted(AcceptError::Full(_))), "{asked}");
    world.gate.notify_one();
    system.advance(std::time::Duration::from_millis(100)).await;
    assert_eq!(world.begun(), [1, 2]);
    let row = &system.store().queues().await.expect("the store works")[0];
    assert_eq!(row.waiting, 0, "acknowledged, although the store is full");
    system.store().release();
    assert_eq!(orders.place(order(5)).await.expect("there is room again"), 5);
}

#[supervise::test]
async fn dur_36_accepted_that_is_dropped_is_handled_or_not_stored(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    system.settle().await;
    drop(orders.place(order(1)).accepted());
    system.settle().await;
    assert_eq!(world.begun(), [] as [u32; 0], "it was never polled");
    system.store().hold();
    {
        let mut accepted = std::pin::pin!(orders.place(order(2)).accepted());
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(accepted.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
    }
    system.store().release();
    system.settle().await;
    assert_eq!(world.begun(), [2], "it was on its way");
}

#[supervise::test]
async fn dur_37_a_key_is_stored_once_also_across_a_crash(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(order(1)).key("a").accepted().await.expect("the store works");
    orders.place(order(1)).key("a").accepted().await.expect("it is known");
    system.settle().await;
    let next = system.crash(Crash::Process).await;
    let orders = world.spawn(&next);
    orders.place(order(1)).key("a").accepted().await.expect("it is known");
    orders.place(order(2)).key("b").accepted().await.expect("the store works");
    next.settle().await;
    let begun = world.begun();
    assert_eq!(begun.iter().filter(|number| **number == 2).count(), 1);
    let ids: std::collections::HashSet<_> = world.seen().iter().map(|seen| (seen.number, seen.id)).collect();
    assert_eq!(ids.len(), 2, "{begun:?}: the first one was stored once");
}

#[supervise::test]
async fn dur_39_a_transient_message_is_neither_stored_nor_there_after_a_crash(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    system.settle().await;
    orders.count().tell().expect("it is in memory");
    assert_eq!(system.store().queues().await.expect("the store works")[0].waiting, 1);
    let next = system.crash(Crash::Process).await;
    world.gate.notify_one();
    let orders = world.spawn(&next);
    next.settle().await;
    assert_eq!(orders.count().await.expect("it is handled"), (2, false), "its handler has no delivery");
}
