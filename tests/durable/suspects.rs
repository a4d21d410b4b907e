//! Messages that kill the process.
//!
//! Rule 27.9.

use supervise::durable::Fate;
use supervise::testkit::{Crash, TestSystem};

use crate::orders::{Does, World, order, that};

#[supervise::test]
async fn dur_16_a_message_that_kills_the_process_is_quarantined_at_the_third_start(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    system.settle().await;
    let second = system.crash(Crash::Process).await;
    world.spawn(&second);
    second.settle().await;
    let third = second.crash(Crash::Process).await;
    world.spawn(&third);
    third.settle().await;
    assert_eq!(world.begun(), [1, 1, 1], "it kills the third process too");
    let fourth = third.crash(Crash::Process).await;
    world.spawn(&fourth);
    fourth.settle().await;
    assert_eq!(world.begun(), [1, 1, 1, 2]);
    let (id, fate) = fourth.expect_quarantined("/user/orders").await;
    assert_eq!((id, fate), (world.seen()[0].id, Fate::CrashedTheProcess));
}

/// Twenty actors are busy with innocent messages whenever the process dies. Each of them is charged once at most, because after
/// that it is tried alone.
#[supervise::test]
async fn dur_17_innocent_neighbours_are_not_quarantined_and_suspects_do_not_overlap(system: &TestSystem) {
    let world = World::default();
    let mut current = None;
    for round in 0..6 {
        let now = current.as_ref().unwrap_or(system);
        let before = world.begun().len();
        let actors: Vec<_> = (0..20).map(|number| world.spawn_as(now, &format!("orders-{number}"))).collect();
        if round == 0 {
            for (number, orders) in (0..).zip(&actors) {
                orders.place(that(number, Does::Wait)).accepted().await.expect("the store works");
            }
        }
        now.settle().await;
        let begun = world.begun().len() - before;
        assert!((round == 0 && begun == 20) || begun == 1, "round {round}: {begun} suspects at once");
        if round < 3 {
            // The first of them kills the process, whenever it is tried.
            let next = now.crash(Crash::Process).await;
            current = Some(next);
        } else {
            world.gate.notify_waiters();
            now.settle().await;
            let rows = now.store().queues().await.expect("the store works");
            let quarantined: u64 = rows.iter().map(|row| row.quarantined).sum();
            assert!(quarantined <= 1, "{rows:?}");
            for _ in 0..40 {
                world.gate.notify_waiters();
                now.settle().await;
            }
            now.allow_dead_letters();
            break;
        }
    }
    let last = current.as_ref().expect("three crashes");
    last.advance(std::time::Duration::from_millis(100)).await;
    let rows = last.store().queues().await.expect("the store works");
    assert!(rows.iter().all(|row| row.waiting == 0), "{rows:?}");
    assert!(rows.iter().map(|row| row.quarantined).sum::<u64>() <= 1);
}
