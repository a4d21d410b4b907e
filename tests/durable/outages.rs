//! The store fails at the worst moments.
//!
//! Rules 27.7, 27.9, 27.10, 27.13 and 27.16.

use std::time::Duration;

use supervise::AskError;
use supervise::durable::AcceptError;
use supervise::prelude::*;
use tokio::time::{sleep, timeout};

use crate::orders::{Does, Orders, OrdersRef, World, order, that};
use crate::stumbling::Stumbling;

/// Long enough for the store to be opened again after two failures, and for everything to settle.
const LONG: Duration = Duration::from_secs(20);

fn spawn(system: &ActorSystem, world: &World, name: &str) -> OrdersRef {
    let world = world.clone();
    system.spawn(name, move || Orders::new(&world)).expect("the name and the queue are free")
}

/// Stops an actor, and spawns the next one as soon as its name is free.
async fn spawn_anew(system: &ActorSystem, world: &World, orders: OrdersRef) -> OrdersRef {
    orders.actor_ref().stop();
    loop {
        let world = world.clone();
        match system.spawn("orders", move || Orders::new(&world)) {
            Ok(orders) => return orders,
            // Virtual time does not pass in between.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

fn is_charge(change: &supervise::durable::Change) -> bool {
    matches!(change, supervise::durable::Change::Charged { .. })
}

#[test]
fn dur_16_a_charge_that_is_lost_is_stored_before_its_message_is_tried() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world, "orders");
        orders.place(that(1, Does::Hang)).accepted().await.expect("the store works");
        sleep(LONG).await;
    });
    assert_eq!(world.begun(), [1]);
    store.process(async |system| {
        store.script().loses = Some(is_charge);
        let _orders = spawn(&system, &world, "orders");
        sleep(LONG).await;
    });
    let seen = world.seen();
    assert!(seen[1].after_crash, "the process died with it: {seen:?}");
}

#[test]
fn an_actor_that_is_spawned_anew_while_the_store_fails_gets_its_queue() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let mut orders = spawn(&system, &world, "orders");
        for failures in 1..4 {
            orders.place(order(1)).accepted().await.expect("the store works");
            // The acknowledgement waits for others to be stored with.
            sleep(Duration::from_millis(10)).await;
            store.script().lost_groups = failures;
            orders = spawn_anew(&system, &world, orders).await;
            sleep(LONG * failures).await;
            let answer = timeout(LONG, orders.place(order(2))).await.expect("it does not wait for ever");
            assert_eq!(answer.ok(), Some(2), "after {failures} failures");
        }
    });
}

#[test]
fn a_claim_that_fails_is_repeated() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        store.script().lost_claims = 3;
        let orders = spawn(&system, &world, "orders");
        sleep(LONG).await;
        assert_eq!(orders.place(order(1)).await.ok(), Some(1));
    });
}

#[test]
fn a_claim_that_fails_when_the_store_is_opened_again_is_repeated() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world, "orders");
        assert_eq!(orders.place(order(1)).await.ok(), Some(1));
        store.script().lost_groups = 1;
        store.script().lost_claims = 1;
        orders.place(order(2)).accepted().await.expect_err("the group is lost");
        sleep(LONG).await;
        assert_eq!(orders.place(order(3)).await.ok(), Some(3));
    });
}

/// If the claim were not repeated, the process would lose its own queue, and would read it from the start.
#[test]
fn a_claim_that_takes_too_long_repeats_no_message() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world, "orders");
        assert_eq!(orders.place(order(1)).await.ok(), Some(1));
        store.script().lost_groups = 1;
        store.script().stores_lost = true;
        store.script().late_claims = 1;
        store.script().has_no_marks = true;
        orders.place(order(2)).accepted().await.expect_err("nobody knows that it is stored");
        sleep(LONG).await;
        orders.place(order(3)).accepted().await.expect("the store works");
        sleep(LONG).await;
        assert_eq!(world.begun(), [1, 2, 3]);
    });
}

/// After the attempts that follow an outage, the claim of that queue is tried again without those of the others.
#[test]
fn a_queue_that_cannot_be_claimed_again_does_not_hold_up_the_others() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let [one, two] = ["one", "two"].map(|name| spawn(&system, &world, name));
        for orders in [&one, &two] {
            orders.place(order(1)).accepted().await.expect("the store works");
        }
        store.script().unclaimable = Some("/user/two");
        store.script().lost_groups = 1;
        one.place(order(2)).accepted().await.expect_err("the group is lost");
        sleep(LONG).await;
        for number in 3..100 {
            one.place(order(number)).accepted().await.expect("the store works for this queue");
            sleep(Duration::from_secs(1)).await;
        }
        two.place(order(100)).accepted().await.expect("its messages are stored");
        store.script().unclaimable = None;
        sleep(LONG * 10).await;
        assert_eq!(world.begun()[2..], (3..=100).collect::<Vec<_>>());
    });
}

/// Nobody keeps the acknowledgement of a queue without an owner.
#[test]
fn what_was_begun_before_its_queue_was_lost_comes_again_as_after_a_crash() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        store.script().has_no_marks = true;
        let [orders, others] = ["orders", "others"].map(|name| spawn(&system, &world, name));
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        orders.place(order(2)).accepted().await.expect("the store works");
        store.script().unclaimable = Some("/user/orders");
        store.script().lost_groups = 1;
        others.place(order(0)).accepted().await.expect_err("the group is lost");
        sleep(LONG).await;
        store.script().has_lapsed = true;
        world.gate.notify_one();
        sleep(LONG).await;
        store.script().unclaimable = None;
        world.gate.notify_one();
        sleep(LONG).await;
        orders.place(order(3)).accepted().await.expect("the store works");
        sleep(LONG).await;
        let seen = world.seen();
        assert_eq!(world.begun(), [1, 1, 2, 3], "nobody knows that 1 was handled");
        assert!(seen[1].after_crash, "it was begun before: {seen:?}");
        let last = seen.last().expect("some have begun");
        assert_eq!((last.number, last.after_crash), (3, false), "it is new: {seen:?}");
    });
}

#[test]
fn queues_that_were_not_durable_when_the_store_failed_do_not_exchange_their_messages() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let names = ["one", "two", "three", "four"];
        let all: Vec<OrdersRef> = names.iter().map(|name| spawn(&system, &world, name)).collect();
        sleep(Duration::from_millis(10)).await;
        store.script().lost_groups = 1;
        all[0].place(order(0)).accepted().await.expect_err("the group is lost");
        sleep(LONG).await;
        for (number, orders) in (1..).zip(&all) {
            let accepted = timeout(LONG, orders.place(that(number, Does::Wait)).accepted()).await;
            assert_eq!(accepted, Ok(Ok(())), "{number}");
        }
        let rows = system.store().queues().await.expect("the store works");
        let waiting: Vec<(&str, u64)> = rows.iter().map(|row| (row.name.as_str(), row.waiting)).collect();
        let mut expected = names.map(|name| (format!("/user/{name}"), 1));
        expected.sort();
        let mut waiting: Vec<(String, u64)> =
            waiting.into_iter().map(|(name, waiting)| (name.to_owned(), waiting)).collect();
        waiting.sort();
        assert_eq!(waiting, expected);
    });
}

#[test]
fn dur_27_acknowledgements_are_stored_although_senders_go_on_trying_a_full_store() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world, "orders");
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        sleep(Duration::from_millis(10)).await;
        store.script().is_full = true;
        for sender in 0..4 {
            let orders = orders.clone();
            tokio::spawn(async move {
                // While one waits for its group, the next one sends.
                sleep(Duration::from_micros(300 * sender)).await;
                loop {
                    let full = orders.place(order(2)).accepted().await.expect_err("there is no room");
                    assert!(matches!(full, AcceptError::Full(_)), "{full}");
                }
            });
        }
        world.gate.notify_one();
        sleep(Duration::from_secs(1)).await;
        // A query through the system would be answered after a group of its own, so this reads the store directly.
        let rows = supervise::durable::MessageStore::queues(&mut store.clone()).await.expect("it is in memory");
        assert_eq!(rows[0].waiting, 0, "the first one is acknowledged");
    });
}

#[test]
fn dur_40_a_failure_at_the_end_loses_no_attempt() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world, "orders");
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        sleep(Duration::from_millis(10)).await;
        store.script().lost_groups = 1;
        // Its handler is dropped at the stop timeout.
        system.terminate().await;
    });
    store.process(async |system| {
        world.gate.notify_one();
        let _orders = spawn(&system, &world, "orders");
        sleep(LONG).await;
        system.terminate().await;
    });
    let seen = world.seen();
    assert_eq!((seen.len(), seen[1].attempt), (2, 2), "it was begun before: {seen:?}");
}

#[test]
fn the_asker_of_a_damaged_message_is_told() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world, "orders");
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        for number in 2..20 {
            orders.place(order(number)).tell().expect("there is room");
        }
        let its = orders.clone();
        let asked = tokio::spawn(async move { its.place(order(20)).await });
        sleep(LONG).await;
        store.script().damaged = Some(supervise::durable::Seq(20));
        world.gate.notify_one();
        let answer = timeout(LONG, asked).await.expect("it does not wait for ever").expect("no panic");
        assert!(matches!(answer, Err(AskError::Unanswered)), "{answer:?}");
    });
}

#[test]
fn dur_19_the_asker_of_what_is_kept_gets_the_reason_of_the_end() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world, "orders");
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        let asks: Vec<_> = (2..20)
            .map(|number| {
                let asker = orders.clone();
                tokio::spawn(async move { asker.place(order(number)).await })
            })
            .collect();
        sleep(LONG).await;
        orders.actor_ref().stop();
        sleep(LONG).await;
        for asked in asks {
            let answer = asked.await.expect("no panic");
            assert!(matches!(answer, Err(AskError::Stopped)), "{answer:?}");
        }
    });
}

#[test]
fn an_actor_that_waits_for_its_store_ends_when_its_system_ends() {
    let (store, world) = (Stumbling::default(), World::default());
    store.process(async |system| {
        let orders = spawn(&system, &world, "orders");
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        orders.place(that(2, Does::Fail(9))).accepted().await.expect("the store works");
        sleep(Duration::from_millis(10)).await;
        store.script().lost_groups = 1000;
        world.gate.notify_one();
        sleep(LONG).await;
        timeout(LONG, system.terminate()).await.expect("it ends");
    });
}
