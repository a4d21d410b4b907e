//! KEY: when a child is idle, and its passivation.
//!
//! Rule 18.6.

use std::time::Duration;

use supervise::testkit::TestSystem;
use tokio::time::Instant;

use super::{Common, IDLE, customers};

/// Rule 18.6.
#[supervise::test]
async fn key_03_an_idle_child_is_passivated_and_one_in_use_is_not(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    let (idle, used, watched) = (sessions.get_or_spawn(1), sessions.get_or_spawn(2), sessions.get_or_spawn(3));
    let (idle, used, watched) = (idle.unwrap(), used.unwrap(), watched.unwrap());
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(280) {
        used.order(1).await.unwrap();
        watched.look_on().await.unwrap();
        assert_eq!(probe.next().await, "2.2 1");
        system.advance(Duration::from_secs(20)).await;
    }
    assert_eq!(sessions.len(), 3, "nobody was idle for that long");
    used.order(2).await.unwrap();
    assert_eq!(probe.next().await, "2.2 2");
    system.advance(IDLE / 4 + Duration::from_secs(30)).await;
    let mut stopped = [probe.next().await, probe.next().await];
    stopped.sort();
    assert_eq!(stopped, ["1.1 stops", "3.3 stops"]);
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions.get(&1), None);
    assert!(idle.actor_ref().has_ended() && watched.actor_ref().has_ended());
    system.advance(IDLE * 5 / 4).await;
    assert_eq!(probe.next().await, "2.2 stops");
    assert!(sessions.is_empty());
}

/// Rule 18.6. The sweeps that look for idle children are a quarter of the idle time apart.
#[supervise::test]
async fn key_03_a_child_is_passivated_a_quarter_after_its_time_at_most(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    for key in 0..8 {
        let from_the_last_sweep = IDLE / 32 * key;
        sessions.get_or_spawn(u64::from(key)).unwrap().order(1).await.unwrap();
        system.advance(IDLE * 99 / 100).await;
        assert_eq!(sessions.len(), 1, "too early, {from_the_last_sweep:?} after a sweep");
        system.advance(IDLE * 26 / 100).await;
        assert_eq!(sessions.len(), 0, "too late, {from_the_last_sweep:?} after a sweep");
        system.advance(IDLE / 32).await;
    }
}

/// Rule 18.6.
#[supervise::test]
async fn key_04_a_child_that_handles_or_keeps_a_message_is_not_idle(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    let thinker = sessions.get_or_spawn(1).unwrap();
    thinker.think(IDLE * 3).tell().unwrap();
    system.advance(IDLE * 5 / 2).await;
    assert_eq!(sessions.len(), 1);
    system.advance(IDLE).await;
    assert_eq!(sessions.len(), 1, "it has been idle for half of the time");
    system.advance(IDLE).await;
    assert!(sessions.is_empty());
    assert_eq!(probe.next().await, "1.1 stops");
}

/// Rule 18.6.
#[supervise::test]
async fn key_22_a_child_that_waits_for_an_answer_beside_its_handlers_is_not_idle(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    let (waiting, restarted) = (sessions.get_or_spawn(1).unwrap(), sessions.get_or_spawn(2).unwrap());
    waiting.order_later(7, IDLE * 3).tell().unwrap();
    restarted.order_later(8, IDLE * 3).tell().unwrap();
    assert!(restarted.fail().await.is_err());
    system.expect_restarts(&restarted, 1).await;
    system.advance(IDLE * 5 / 2).await;
    assert_eq!(probe.next().await, "2.2 stops");
    assert_eq!(probe.next().await, "2.3 stops", "its answer was cancelled with its first instance");
    assert_eq!(sessions.len(), 1);
    system.advance(IDLE * 2).await;
    assert_eq!(probe.next().await, "1.1 7");
    assert_eq!(probe.next().await, "1.1 stops");
    assert!(sessions.is_empty());
}

/// Rule 18.6.
#[supervise::test]
async fn key_18_ten_thousand_idle_children_are_passivated_together(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    let children: Vec<_> = (0..10_000).map(|key| sessions.get_or_spawn(key).unwrap()).collect();
    system.settle().await;
    assert_eq!(sessions.len(), 10_000);
    system.advance(IDLE * 5 / 4).await;
    assert_eq!(sessions.len(), 0);
    for child in children.iter().step_by(100) {
        assert!(child.order(1).await.unwrap() > 10_000);
    }
    assert_eq!(sessions.len(), 100);
}

/// Rules 18.3, 18.6.
#[supervise::test]
async fn key_19_a_suspended_child_is_passivated_when_it_is_well(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.fail().tell().unwrap();
    sessions.passivate(&1);
    session.order(1).tell().unwrap();
    system.expect_restarts(&session, 1).await;
    system.settle().await;
    for expected in ["1.1 stops", "1.2 stops", "1.3 1"] {
        assert_eq!(probe.next().await, expected);
    }
}
