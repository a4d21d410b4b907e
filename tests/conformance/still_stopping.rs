//! CSD: the log names the actors that delay the end.
//!
//! Rules 6.1, 9.2 and 16.2.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{Phase, ShutdownSettings};

use crate::fixture::secs;
use crate::log::Log;

/// Takes its time to end.
#[actor(stop_timeout = "1h")]
struct Slow;

#[actor]
impl Slow {
    #[post_stop]
    async fn end(&self) {
        tokio::time::sleep(secs(18)).await;
    }
}

#[actor]
struct Keeper;

#[actor]
impl Keeper {
    #[handler]
    fn keep(&self, number: usize, ctx: &mut Context<Self>) -> Vec<SlowRef> {
        (0..number).map(|at| ctx.spawn(format!("slow-{at}"), || Slow).unwrap()).collect()
    }
}

fn waits(log: &Log) -> Vec<String> {
    log.warnings().into_iter().filter(|line| line.contains("still waiting")).collect()
}

/// Rule 9.2.
#[supervise::test]
async fn csd_20_the_log_names_the_actors_that_hold_up_the_end_of_a_system(system: &TestSystem) {
    let log = Log::open();
    let keeper = system.spawn("keeper", || Keeper).unwrap();
    keeper.keep(7).await.unwrap();
    system.terminate().await;
    let lines = waits(&log);
    assert_eq!(lines.len(), 2, "after 5 s and 10 s, and not after the end at 18 s: {lines:?}");
    for at in 0..5 {
        let named = format!("supervise://test/user/keeper/slow-{at} (stopping)");
        assert!(lines.iter().all(|line| line.contains(&named)), "{lines:?}");
    }
    assert!(lines[0].contains("(stopping) and 2 more"), "{lines:?}");
    assert!(!lines[0].contains("keeper ("), "it waits for its children only: {lines:?}");
    assert!(lines[0].contains("waited=5s") && lines[1].contains("waited=10s"), "{lines:?}");
}

/// Stops its last child first.
#[actor]
struct Office {
    #[child(|_| || Keeper)]
    first: Child<Keeper>,
    #[child(|_| || Slow)]
    second: Child<Slow>,
    #[child(|_| || Keeper)]
    third: Child<Keeper>,
}

#[actor]
impl Office {}

/// Rules 9.2, 14.4.
#[supervise::test]
async fn csd_22_a_declared_child_whose_turn_to_stop_has_not_come_is_not_named(system: &TestSystem) {
    let log = Log::open();
    let office = || Office { first: Child::default(), second: Child::default(), third: Child::default() };
    system.spawn("office", office).unwrap();
    system.settle().await;
    system.terminate().await;
    let lines = waits(&log);
    let waits = "message=still waiting for the end of supervise://test/user/office/second (stopping) ";
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains(waits)), "{lines:?}");
}

/// Rule 16.2.
#[test]
fn csd_21_the_log_names_the_actors_for_which_a_phase_waited_too_long() {
    let phase = Phase::new(Phase::SERVICE_STOP).timeout(Duration::from_millis(2_004));
    let settings = ShutdownSettings::new().phase(phase);
    testkit::run_with(ActorSystem::builder("test").coordinated_shutdown(settings), async |system| {
        let log = Log::open();
        let slow = system.spawn("slow", || Slow).unwrap();
        system.spawn("quick", || Keeper).unwrap();
        let shutdown = system.coordinated_shutdown();
        shutdown.add_actor_termination(Phase::SERVICE_STOP, "await the slow one", &slow).unwrap();
        slow.actor_ref().stop();
        shutdown.run("test").await.unwrap();
        let lines = waits(&log);
        // The times are rounded.
        assert!(lines[0].contains("waited=2s "), "{lines:?}");
        let took_too_long = log.warnings().into_iter().find(|line| line.contains("took too long")).unwrap();
        assert!(took_too_long.contains("timeout=2s "), "{took_too_long}");
        assert!(
            lines[0].contains("supervise://test/user/slow (stopping)") && !lines[0].contains("quick"),
            "{lines:?}"
        );
    });
}
