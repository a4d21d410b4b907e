//! The lines of the log about a child that is replaced. Rule 13.4.

use std::time::Duration;

use supervise::Backoff;
use supervise::pattern::{BackoffSupervisor, BackoffSupervisorProps};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use tracing::Level;

use super::{Bang, Child, Seen, boom, delays, making, on_failure, start};
use crate::log::Log;

/// How many lines of this level say when a child is replaced.
fn replacements(log: &Log, level: Level) -> Vec<String> {
    log.at(level).into_iter().filter(|line| line.contains("is replaced in")).collect()
}

/// The line of the failure says that the child stops. Another line says that it comes back.
#[supervise::test]
async fn a_delay_after_a_failure_is_a_line_of_the_log(system: &TestSystem) {
    system.allow_failures();
    let log = Log::open();
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe), &probe).await;
    for _ in 0..2 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    let lines = replacements(&log, Level::INFO);
    let [first, second] = &lines[..] else { panic!("{:?}", log.all()) };
    let actor = "actor=supervise://";
    assert!(first.contains(&format!("message=c1 is replaced in 100 ms {actor}")), "{first}");
    let says = format!("message=c1 is replaced in 200 ms, after 2 ends in a row {actor}");
    assert!(second.contains(&says) && second.contains(" delay=200ms attempt=2 "), "{second}");
    // The child ends by itself, without a failure.
    supervisor.actor_ref().stop();
    system.expect_terminated(&supervisor).await;
    let supervisor = start(system, super::on_stop(&probe), &probe).await;
    supervisor.finish().tell().unwrap();
    probe.expect(Seen::Made).await;
    assert_eq!(replacements(&log, Level::INFO).len(), 2, "{:?}", log.all());
}

/// A failure that has no line of its own has none about the replacement either.
#[supervise::test]
async fn replacements_have_no_more_lines_than_the_failures_before_them(system: &TestSystem) {
    system.allow_failures();
    let log = Log::open();
    let probe = system.probe();
    let quick = Backoff::exponential(Duration::from_millis(1), Duration::from_millis(1)).manual_reset();
    let options = BackoffSupervisor::on_failure("c1", making(&probe), quick);
    let supervisor = start(system, options, &probe).await;
    for _ in 0..50 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    let failures = log.errors().iter().filter(|line| line.contains("it stops")).count();
    assert_eq!((failures, replacements(&log, Level::INFO).len()), (10, 10), "{:?}", log.all());
    assert_eq!(replacements(&log, Level::DEBUG).len(), 40);
}

#[supervise(one_for_one(log = off), on(Bang) = Restart, on(_) = Stop)]
struct Silent;

/// Rule 10.2.
#[supervise::test]
async fn a_table_that_logs_no_failure_logs_no_replacement(system: &TestSystem) {
    system.allow_failures();
    let log = Log::open();
    let probe = system.probe();
    let options: BackoffSupervisorProps<Child, _> = on_failure(&probe).supervised_by::<Silent>();
    let supervisor = start(system, options, &probe).await;
    boom(system, &supervisor).await;
    probe.expect(Seen::Made).await;
    assert_eq!((log.errors(), replacements(&log, Level::INFO)), (Vec::new(), Vec::new()));
}

/// A backoff supervisor that gives up its child has a line that no decision causes.
#[supervise::test]
async fn a_backoff_supervisor_that_gave_up_is_replaced(system: &TestSystem) {
    system.allow_failures();
    let log = Log::open();
    let probe = system.probe();
    let handle = probe.handle();
    let inner = move || {
        let probe = handle.clone();
        let child = move || {
            probe.note(Seen::Made);
            Child { probe: probe.clone() }
        };
        BackoffSupervisor::on_failure("c1", child, delays()).max_retries(0).props()
    };
    let outer = BackoffSupervisor::on_stop("inner", inner, delays()).props();
    let outer = system.spawn_with("outer", outer).unwrap();
    probe.expect(Seen::Made).await;
    outer.fail(Bang::Boom).tell().unwrap();
    probe.expect(Seen::Made).await;
    let lines = replacements(&log, Level::INFO);
    assert!(lines.len() == 1 && lines[0].contains("message=inner is replaced in 100 ms "), "{:?}", log.all());
}
