//! BKS, BKF: the delay before the next start.

use std::time::Duration;

use supervise::pattern::BackoffSupervisor;
use supervise::testkit::TestSystem;
use supervise::{Backoff, Event, Intervention};
use tokio::time::Instant;

use super::{Bang, Child, MAX, MIN, Seen, boom, child, count, delays, making, on_failure, on_stop, start};

/// Rule 13.3.
#[supervise::test]
async fn bks_04_the_stopping_strategy_delays_the_start_after_a_failure(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_stop(&probe).stopping(), &probe).await;
    assert_eq!(count(&supervisor).await, 0);
    let first = child(&supervisor).await;
    boom(system, &supervisor).await;
    probe.expect(Seen::Made).await;
    assert_ne!(child(&supervisor).await, first);
    assert_eq!(count(&supervisor).await, 1);
}

/// Rule 13.4.
#[supervise::test]
async fn a_delay_after_a_failure_is_an_event(system: &TestSystem) {
    let probe = system.probe();
    let told = async || {
        let told = system.take_all(|event| matches!(event, Event::ReplacementDelayed { .. })).await;
        let told = told.into_iter().map(|event| match event {
            Event::ReplacementDelayed { child, delay, attempt, .. } => (child.local().to_owned(), delay, attempt),
            other => panic!("{other:?}"),
        });
        told.collect::<Vec<_>>()
    };
    let child = "/user/supervisor/c1".to_owned();
    let supervisor = start(system, on_failure(&probe), &probe).await;
    for _ in 0..2 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    assert_eq!(told().await, [(child.clone(), MIN, 1), (child.clone(), MIN * 2, 2)]);
    supervisor.actor_ref().stop();
    system.expect_terminated(&supervisor).await;
    let supervisor = start(system, on_stop(&probe).stopping(), &probe).await;
    boom(system, &supervisor).await;
    probe.expect(Seen::Made).await;
    assert_eq!(told().await, [(child, MIN, 1)]);
    // The child ends by itself, without a failure.
    supervisor.finish().tell().unwrap();
    probe.expect(Seen::Made).await;
    assert_eq!(told().await, []);
}

/// Each delay is reported once, also if it is ended early. Rules 13.4 to 13.7.
#[supervise::test]
async fn each_delay_is_one_event(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let told = async || {
        let told = system.take_all(|event| matches!(event, Event::ReplacementDelayed { .. })).await;
        let told = told.into_iter().map(|event| match event {
            Event::ReplacementDelayed { delay, attempt, .. } => (delay, attempt),
            other => panic!("{other:?}"),
        });
        told.collect::<Vec<_>>()
    };
    let by_hand = delays().manual_reset();
    let options = BackoffSupervisor::on_failure("c1", making(&probe), by_hand).max_retries(3);
    let supervisor = start(system, options, &probe).await;
    // A reset by hand holds for the next delay.
    boom(system, &supervisor).await;
    supervisor.actor_ref().reset();
    probe.expect(Seen::Made).await;
    boom(system, &supervisor).await;
    assert_eq!(told().await, [(MIN, 1), (MIN, 1)]);
    // A restart ends the delay, and the supervisor counts from 0.
    let restart = Intervention::Restart;
    system.intervene(&supervisor.actor_ref().to_any(), 0, restart, "night shift").unwrap();
    probe.expect(Seen::Made).await;
    system.advance(MAX).await;
    assert_eq!(told().await, []);
    // The supervisor gives up without a delay.
    for _ in 0..3 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
    assert_eq!(told().await, [(MIN, 1), (MIN * 2, 2), (MIN * 4, 3)]);
    // A stop during the delay ends it.
    let supervisor = start(system, on_failure(&probe), &probe).await;
    boom(system, &supervisor).await;
    supervisor.actor_ref().stop();
    system.expect_terminated(&supervisor).await;
    system.advance(MAX).await;
    assert_eq!(told().await, [(MIN, 1)]);
    // A child that cannot start.
    let broken = BackoffSupervisor::on_stop("c1", || Err::<Child, Bang>(Bang::Boom), delays()).max_retries(2);
    let supervisor = system.spawn_with("supervisor", broken.props()).unwrap();
    system.expect_terminated(&supervisor).await;
    assert_eq!(told().await, [(MIN, 1), (MIN * 2, 2)]);
}

/// Rule 13.5.
#[supervise::test]
async fn bks_05_bkf_03_a_count_that_is_reset_by_hand(system: &TestSystem) {
    let probe = system.probe();
    let by_hand = delays().manual_reset();
    let on_stop = BackoffSupervisor::on_stop("c1", making(&probe), by_hand).stopping();
    let on_failure = BackoffSupervisor::on_failure("c1", making(&probe), by_hand);
    let on_stop = system.spawn_with("on_stop", on_stop.props()).unwrap();
    probe.expect(Seen::Made).await;
    let on_failure = system.spawn_with("on_failure", on_failure.props()).unwrap();
    probe.expect(Seen::Made).await;
    for supervisor in [on_stop, on_failure] {
        boom(system, &supervisor).await;
        assert_eq!(count(&supervisor).await, 1);
        probe.expect(Seen::Made).await;
        system.advance(MIN * 9000).await;
        assert_eq!(count(&supervisor).await, 1, "time does not reset it");
        supervisor.hear("hello").tell().unwrap();
        supervisor.hear("hello").tell().unwrap();
        probe.expect(Seen::Heard("hello")).await;
        probe.expect(Seen::Heard("hello")).await;
        assert_eq!(count(&supervisor).await, 0);
    }
}

/// Rule 13.3.
#[supervise::test]
async fn on_stop_a_child_that_cannot_start_is_tried_again_after_a_delay(system: &TestSystem) {
    let broken = BackoffSupervisor::on_stop("c1", || Err::<Child, Bang>(Bang::Boom), delays()).max_retries(2);
    let begun = Instant::now();
    let supervisor = system.spawn_with("supervisor", broken.props()).unwrap();
    system.expect_terminated(&supervisor).await;
    assert_eq!(begun.elapsed(), MIN * 3);
    system.allow_failures();
}

/// Rule 13.2.
#[supervise::test]
async fn delays_double_up_to_the_cap_and_jitter_comes_on_top(system: &TestSystem) {
    let probe = system.probe();
    let delays = Backoff::exponential(MIN, MIN * 4).manual_reset().jitter(0.2);
    let options = BackoffSupervisor::on_failure("c1", making(&probe), delays);
    let supervisor = start(system, options, &probe).await;
    for shortest in [1, 2, 4, 4].map(|factor| MIN * factor) {
        boom(system, &supervisor).await;
        let begun = Instant::now();
        probe.expect(Seen::Made).await;
        let delay = begun.elapsed();
        // The clock's grain is a millisecond.
        let longest = shortest.mul_f64(1.2) + Duration::from_millis(1);
        assert!(shortest <= delay && delay <= longest, "{delay:?} is not in {shortest:?}..={longest:?}");
    }
}

/// Rule 13.5.
#[supervise::test]
async fn a_quiet_time_resets_the_count(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe), &probe).await;
    boom(system, &supervisor).await;
    probe.expect(Seen::Made).await;
    supervisor.actor_ref().reset();
    assert_eq!(count(&supervisor).await, 1, "not by hand");
    system.advance(MAX * 9 / 10).await;
    assert_eq!(count(&supervisor).await, 1);
    system.advance(MAX / 10).await;
    assert_eq!(count(&supervisor).await, 0);
}

/// Rule 13.5.
#[test]
#[should_panic(expected = "lies between its shortest and its longest delay")]
fn a_quiet_time_shorter_than_the_shortest_delay_is_refused() {
    let hasty = delays().reset_after(MIN / 2);
    let _refused = BackoffSupervisor::on_stop("c1", || Err::<Child, Bang>(Bang::Boom), hasty);
}
