//! What happens to a message whose handler fails.
//!
//! Rules 27.7 and 27.8.

use std::time::Duration;

use supervise::durable::Fate;
use supervise::testkit::{Crash, TestSystem};
use supervise::{AskError, Backoff, Directive, Strategy};

use crate::log::Log;
use crate::orders::{Does, World, order, that};

fn one_for_one(directive: Directive) -> (Strategy, Directive) {
    (Strategy::one_for_one(), directive)
}

/// Restarts after ten seconds.
fn patient() -> (Strategy, Directive) {
    let ten = Duration::from_secs(10);
    (Strategy::one_for_one().backoff(Backoff::exponential(ten, ten)), Directive::Restart)
}

#[supervise::test]
async fn dur_08_a_failed_message_is_first_again_after_the_backoff(system: &TestSystem) {
    let world = World::default();
    let parent = world.under(system, patient());
    let orders = parent.orders().await.expect("it has started");
    orders.place(that(0, Does::Wait)).tell().expect("there is room");
    orders.place(that(1, Does::Fail(1))).tell().expect("there is room");
    for number in 2..12 {
        orders.place(order(number)).tell().expect("there is room");
    }
    system.settle().await;
    world.gate.notify_one();
    system.settle().await;
    assert_eq!(world.begun(), [0, 1], "it waits for the restart");
    system.advance(Duration::from_secs(9)).await;
    assert_eq!(world.begun(), [0, 1]);
    system.advance(Duration::from_secs(2)).await;
    assert_eq!(world.begun(), [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(world.seen()[2].attempt, 2);
    system.expect_restarts(&orders, 1).await;
}

#[supervise::test]
async fn dur_09_a_message_that_fails_once_too_often_is_quarantined_with_all_failures(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Fail(99))).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    system.settle().await;
    assert_eq!(world.begun(), [1, 1, 1, 1, 2]);
    system.expect_restarts(&orders, 4).await;
    let (id, fate) = system.expect_quarantined("/user/orders").await;
    assert_eq!((id, fate), (world.seen()[0].id, Fate::Failed));
    let quarantined = system.store().quarantined("/user/orders").await.expect("the store works");
    assert_eq!(quarantined.len(), 1);
    assert_eq!(quarantined[0].message.failures, ["order 1 failed"; 4]);
}

#[supervise::test]
async fn dur_10_the_count_of_attempts_survives_a_crash(system: &TestSystem) {
    let world = World::default();
    let parent = world.under(system, patient());
    let orders = parent.orders().await.expect("it has started");
    orders.place(that(1, Does::Fail(99))).accepted().await.expect("the store works");
    system.advance(Duration::from_secs(11)).await;
    assert_eq!(world.begun(), [1, 1]);
    let next = system.crash(Crash::Process).await;
    let parent = world.under(&next, patient());
    next.allow_failures();
    parent.orders().await.expect("it has started");
    next.advance(Duration::from_secs(100)).await;
    let attempts: Vec<u32> = world.seen().iter().map(|seen| seen.attempt).collect();
    assert_eq!(attempts, [1, 2, 3, 4]);
    next.expect_quarantined("/user/parent/orders").await;
}

#[supervise::test]
async fn dur_11_a_failed_message_is_quarantined_if_the_actor_is_resumed(system: &TestSystem) {
    let (world, log) = (World::default(), Log::open());
    let parent = world.under(system, one_for_one(Directive::Resume));
    let orders = parent.orders().await.expect("it has started");
    orders.place(that(1, Does::Fail(1))).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    system.settle().await;
    assert_eq!(world.begun(), [1, 2]);
    system.expect_quarantined("/user/parent/orders").await;
    system.allow_failures();
    assert_eq!(log.errors(), [] as [String; 0]);
    let warnings = log.warnings();
    let warned = |of: &str| warnings.iter().filter(|line| line.contains(of)).count();
    let in_words = "a message failed at its last delivery, and is in quarantine: ";
    assert_eq!((warned("Quarantined"), warned(in_words)), (1, 1), "{warnings:?}");
}

#[supervise::test]
async fn dur_12_a_message_whose_failure_stops_the_actor_is_first_for_the_next_one(system: &TestSystem) {
    let world = World::default();
    let parent = world.under(system, one_for_one(Directive::Stop));
    let orders = parent.orders().await.expect("it has started");
    orders.place(that(1, Does::Fail(1))).tell().expect("there is room");
    orders.place(order(2)).tell().expect("there is room");
    system.expect_terminated(&orders).await;
    assert_eq!(system.expect_kept("/user/parent/orders").await, 2);
    assert_eq!(world.begun(), [1]);
    parent.again().await.expect("the name is free").expect("the queue too");
    system.settle().await;
    assert_eq!(world.begun(), [1, 1, 2]);
    assert_eq!(world.seen()[1].attempt, 2);
    system.allow_failures();
}

#[supervise::test]
async fn dur_13_a_message_whose_failure_escalates_is_delivered_to_the_child_that_is_made_anew(
    system: &TestSystem,
) {
    let world = World::default();
    let parent = world.under(system, one_for_one(Directive::Escalate));
    let orders = parent.orders().await.expect("it has started");
    orders.place(that(1, Does::Fail(1))).tell().expect("there is room");
    orders.place(order(2)).tell().expect("there is room");
    system.settle().await;
    assert_eq!(world.begun(), [1, 1, 2]);
    assert_eq!(world.seen()[1].attempt, 2);
    system.allow_failures();
    assert!(system.expect_kept("/user/parent/orders").await >= 1);
}

#[supervise::test]
async fn dur_14_a_siblings_message_under_way_finishes_and_is_not_repeated(system: &TestSystem) {
    let world = World::default();
    let parent = world.under(system, (Strategy::all_for_one(), Directive::Restart));
    let (first, second) = parent.both().await.expect("they have started");
    second.place(that(7, Does::Wait)).tell().expect("there is room");
    system.settle().await;
    first.place(that(1, Does::Fail(1))).tell().expect("there is room");
    system.settle().await;
    world.gate.notify_one();
    system.settle().await;
    let mut begun = world.begun();
    begun.sort_unstable();
    assert_eq!(begun, [1, 1, 7]);
    system.allow_failures();
}

#[supervise::test]
async fn dur_15_a_handler_dropped_at_the_stop_timeout_counts_an_attempt(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    system.settle().await;
    orders.actor_ref().stop();
    system.advance(Duration::from_secs(6)).await;
    system.expect_terminated(&orders).await;
    assert_eq!(system.expect_kept("/user/orders").await, 2);
    world.gate.notify_one();
    world.spawn(system);
    system.settle().await;
    assert_eq!(world.begun(), [1, 1, 2]);
    assert_eq!(world.seen()[1].attempt, 2);
}

#[supervise::test]
async fn an_asker_hears_of_the_first_failure_or_waits_for_the_last(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    let failed = orders.place(that(1, Does::Fail(2))).await.expect_err("it failed");
    assert!(matches!(failed, AskError::Failed(_)), "{failed}");
    assert_eq!(orders.place(that(2, Does::Fail(2))).retried().await.expect("at the third attempt"), 2);
    system.allow_failures();
}
