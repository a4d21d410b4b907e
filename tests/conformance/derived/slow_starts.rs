//! Z: starts that take longer to fail than the longest delay.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use supervise::pattern::BackoffSupervisor;
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Backoff, Event, Outcome, Strategy};

use crate::fixture::{Boom, always_restart, child, keeper_deciding, secs};

const BACKOFF: Backoff = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(30));

/// Needs a database. While that is down, each start fails after a minute.
#[actor]
struct Client {
    database_is_up: Arc<AtomicBool>,
}

#[actor]
impl Client {
    #[pre_start]
    async fn connect(&mut self) -> Result<(), Boom> {
        if self.database_is_up.load(Ordering::Relaxed) {
            return Ok(());
        }
        tokio::time::sleep(secs(60)).await;
        Err(Boom("timed out"))
    }

    #[handler]
    fn lose_connection(&mut self) -> Result<(), Boom> {
        Err(Boom("lost"))
    }
}

fn client(database_is_up: &Arc<AtomicBool>) -> impl Fn() -> Client + Send + Sync + 'static {
    let database_is_up = Arc::clone(database_is_up);
    move || Client { database_is_up: Arc::clone(&database_is_up) }
}

/// The delays of the restarts so far, in seconds.
async fn delays(system: &TestSystem) -> Vec<u64> {
    let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    let delay = |event: &Event| match event {
        Event::Decided { outcome: Outcome::Restarting { delay, .. }, .. } => {
            Some(delay.expect("each restart is delayed").as_secs())
        }
        _ => None,
    };
    decided.iter().filter_map(delay).collect()
}

/// Rule 7.8.
#[supervise::test]
async fn z_51_a_start_that_takes_long_to_fail_is_not_a_quiet_time(system: &TestSystem) {
    let database_is_up = Arc::new(AtomicBool::new(true));
    let keeper = keeper_deciding(system, Strategy::one_for_one().backoff(BACKOFF), always_restart);
    let client = child(&keeper, "client", client(&database_is_up)).await;
    database_is_up.store(false, Ordering::Relaxed);
    client.lose_connection().tell().unwrap();
    system.advance(secs(500)).await;
    assert_eq!(delays(system).await, [1, 2, 4, 8, 16, 30, 30]);
    // It starts, and works for a while.
    database_is_up.store(true, Ordering::Relaxed);
    system.advance(secs(200)).await;
    assert_eq!(delays(system).await, [30]);
    client.lose_connection().tell().unwrap();
    system.advance(secs(2)).await;
    assert_eq!(delays(system).await, [1], "a new streak");
}

/// Rule 7.8.
#[supervise::test]
async fn z_52_a_group_restart_during_a_slow_start_does_not_end_the_row(system: &TestSystem) {
    let database_is_up = Arc::new(AtomicBool::new(true));
    let keeper = keeper_deciding(system, Strategy::all_for_one().backoff(BACKOFF), always_restart);
    let first = child(&keeper, "first", client(&database_is_up)).await;
    let second = child(&keeper, "second", client(&database_is_up)).await;
    database_is_up.store(false, Ordering::Relaxed);
    first.lose_connection().tell().unwrap();
    second.lose_connection().tell().unwrap();
    system.advance(secs(600)).await;
    let delays = delays(system).await;
    assert!(delays.len() >= 7, "{delays:?}");
    assert!(delays.is_sorted(), "{delays:?}");
    assert_eq!(delays.last(), Some(&30), "{delays:?}");
}

/// The failures of an outage that is long over do not delay the restarts of the next outage, even if the failure
/// between the two was restarted without a backoff.
///
/// Rules 5.3 and 7.8.
#[supervise::test]
async fn z_53_a_run_without_a_failure_ends_the_row_of_failed_starts(system: &TestSystem) {
    let database_is_up = Arc::new(AtomicBool::new(true));
    let keeper = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let client = child(&keeper, "client", client(&database_is_up)).await;
    let outage = async || {
        database_is_up.store(false, Ordering::Relaxed);
        client.lose_connection().tell().unwrap();
        system.advance(secs(400)).await;
        database_is_up.store(true, Ordering::Relaxed);
        system.advance(secs(3600)).await;
        let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
        let delays = decided.iter().map(|event| match event {
            Event::Decided { outcome: Outcome::Restarting { delay, .. }, .. } => {
                delay.map_or(0, |delay| delay.as_millis())
            }
            _ => unreachable!("these are decisions"),
        });
        delays.collect::<Vec<_>>()
    };
    let first = outage().await;
    assert_eq!(first[..5], [0, 100, 200, 400, 800]);
    assert_eq!(outage().await, first);
}

/// Rules 7.8 and 13.5.
#[supervise::test]
async fn z_54_a_slow_failing_start_under_a_backoff_supervisor_is_not_a_quiet_time(system: &TestSystem) {
    let database_is_up = Arc::new(AtomicBool::new(false));
    let starts = system.probe();
    let note = starts.handle();
    let make = client(&database_is_up);
    let template = move || {
        note.note(());
        make()
    };
    let props = BackoffSupervisor::on_stop("client", template, BACKOFF);
    system.spawn_with("supervisor", props.props()).unwrap();
    system.allow_failures();
    // Starts at 0, 61, 123, 187, 255, 331, 421 and 511 s.
    system.advance(secs(512)).await;
    assert_eq!(starts.all().await.len(), 8);
}
