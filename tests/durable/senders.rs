//! Sending to a queue without its actor, and keys for every way of sending.
//!
//! Rules 27.2, 27.3, 27.11 and 27.17.

use std::time::Duration;

use supervise::AskError;
use supervise::durable::AcceptError;
use supervise::testkit::{Crash, TestSystem};
use tokio::time::{sleep, timeout};

use crate::orders::{Does, Orders, OrdersMessage, World, order, that};

const LONG: Duration = Duration::from_secs(20);

fn place(number: u32) -> OrdersMessage {
    OrdersMessage::Place { order: order(number) }
}

#[supervise::test]
async fn what_is_sent_to_a_queue_without_an_actor_waits_for_it(system: &TestSystem) {
    let world = World::default();
    let sender = system.store().sender::<Orders>("/user/orders");
    for number in 1..=3 {
        sender.accepted(place(number)).await.expect("the store works");
    }
    sender.accepted_once("four", place(4)).await.expect("the store works");
    sender.accepted_once("four", place(4)).await.expect("it is known");
    let next = system.crash(Crash::Power).await;
    let orders = world.spawn(&next);
    assert_eq!(timeout(LONG, orders.place(order(5))).await.expect("its turn comes").ok(), Some(5));
    assert_eq!(world.begun(), [1, 2, 3, 4, 5]);
    let sender = next.store().sender::<Orders>("/user/orders");
    sender.accepted(place(6)).await.expect("the store works");
    orders.place(order(7)).accepted().await.expect("the store works");
    sender.accepted(place(8)).await.expect("the store works");
    sleep(LONG).await;
    assert_eq!(world.begun(), [1, 2, 3, 4, 5, 6, 7, 8], "also while the actor lives");
    let error = sender.accepted(OrdersMessage::Count {}).await.expect_err("it is transient");
    assert!(matches!(error, AcceptError::NotEncodable(_)), "{error}");
}

#[supervise::test]
async fn a_sender_finds_a_full_mailbox_full(system: &TestSystem) {
    let world = World::default();
    let sender = system.store().sender::<Orders>("/user/orders");
    for number in 1..=1000 {
        sender.accepted(place(number)).await.expect("there is room");
    }
    let error = sender.accepted(place(1001)).await.expect_err("the mailbox has the capacity 1000");
    assert!(matches!(error, AcceptError::Full(_)), "{error}");
    let text = "the message was not accepted, because the store takes no more messages: its queue holds as many as its mailbox has capacity for";
    assert_eq!(error.to_string(), text);
    let orders = world.spawn(system);
    sleep(LONG).await;
    assert_eq!(world.begun().len(), 1000);
    orders.place(that(1, Does::Wait)).accepted().await.expect("there is room");
    for number in 2..=1000 {
        sender.accepted(place(number)).await.expect("there is room");
    }
    let error = sender.accepted(place(1001)).await.expect_err("the mailbox has the capacity 1000");
    assert!(matches!(error, AcceptError::Full(_)), "{error}");
    world.gate.notify_one();
    sleep(LONG).await;
    sender.accepted(place(1001)).await.expect("there is room again");
    sleep(LONG).await;
    assert_eq!(system.store().queues().await.expect("the store works")[0].waiting, 0);
    assert_eq!(world.begun().len(), 2001);
}

#[supervise::test]
async fn dur_37_a_key_holds_for_tell_and_ask_too(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(order(1)).key("one").tell().expect("there is room");
    orders.place(order(1)).key("one").tell().expect("there is room");
    assert_eq!(orders.place(order(2)).key("two").await.ok(), Some(2));
    let known = timeout(LONG, orders.place(order(2)).key("two")).await.expect("it does not wait for ever");
    assert!(matches!(known, Err(AskError::Unanswered)), "{known:?}");
    orders.place(order(2)).key("two").accepted().await.expect("it is known");
    sleep(LONG).await;
    assert_eq!(world.begun(), [1, 2]);
}
