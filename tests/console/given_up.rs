//! What an operator reads when a supervisor gives an actor up, and another supervisor replaces the actor. Rules 13.4 and 22.3.

use std::time::Duration;

use supervise::console::Console;
use supervise::pattern::{BackoffSupervisor, Pool};
use supervise::testkit::TestSystem;
use supervise::{Backoff, StoppingTable};

use crate::clerk::{Clerk, look, words};
use crate::log::Log;

fn seconds(min: u64, max: u64) -> Backoff {
    Backoff::exponential(Duration::from_secs(min), Duration::from_secs(max))
}

fn lines(log: &Log, part: &str) -> usize {
    log.all().iter().filter(|line| line.text.contains(part)).count()
}

/// The card of a pattern that is down says why the last child was given up.
#[supervise::test]
async fn con_15_a_pattern_whose_last_child_gave_up_says_why(system: &TestSystem) {
    system.allow_failures();
    let office = || BackoffSupervisor::on_failure("clerk", || Clerk, seconds(1, 4)).max_retries(0).props();
    let pool = system.spawn_with("pool", Pool::round_robin(1, office).props()).unwrap();
    let outer = BackoffSupervisor::on_failure("office", office, seconds(1, 4)).props();
    let outer = system.spawn_with("outer", outer).unwrap();
    let mut watch = Console::of(system).by_hand();
    pool.stamp().tell().unwrap();
    outer.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    let text = words(&watch);
    let says = "clerk failed in `stamp`. No other actor took the place of its last child, so it stopped.";
    assert_eq!(text.matches(says).count(), 2, "{}", watch.text());
    assert_eq!(text.matches("Why: no ink").count(), 2, "{}", watch.text());
}

/// An actor that has ended may not be gone for good. Rules 13.4 and 22.4.
#[supervise::test]
async fn con_27_the_lists_say_which_actors_are_replaced(system: &TestSystem) {
    system.allow_failures();
    let office = BackoffSupervisor::on_failure("clerk", || Clerk, seconds(40, 400)).props();
    let clerk = system.spawn_with("office", office).unwrap();
    let pool = Pool::round_robin(2, || Clerk).supervised_by::<StoppingTable>().props();
    let pool = system.spawn_with("pool", pool).unwrap();
    let mut watch = Console::of(system).by_hand();
    clerk.stamp().tell().unwrap();
    pool.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    let text = words(&watch);
    let says =
        "/user/office/clerk failed in `stamp`: no ink; stopped, to be replaced after 40 s, rule `default` of";
    assert_eq!(text.matches(says).count(), 2, "{}", watch.text());
    let says = "/user/pool/worker-1 failed in `stamp`: no ink; stopped, rule `_` of /user/pool";
    assert_eq!(text.matches(says).count(), 2, "{}", watch.text());
}

/// A clerk that ended five times by itself has failed only once.
#[supervise::test]
async fn con_13_ends_without_a_failure_are_no_loop(system: &TestSystem) {
    system.allow_failures();
    let clerk = BackoffSupervisor::on_stop("clerk", || Clerk, seconds(4, 600)).stopping().props();
    let clerk = system.spawn_with("office", clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    for wait in [5, 9, 17, 33, 65] {
        clerk.go_home().tell().unwrap();
        look(system, &mut watch, wait).await;
        assert!(watch.text().contains("All is well"), "{}", watch.text());
    }
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    assert!(!watch.text().contains("Restart loop"), "{}", watch.text());
}

/// The outer supervisor counts from 0 each time, because the inner one keeps its child going for longer than the longest delay.
#[supervise::test]
async fn con_13_a_loop_goes_on_while_a_backoff_supervisor_replaces_the_one_that_gave_up(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let log = Log::open();
    let inner = || BackoffSupervisor::on_failure("clerk", || Clerk, seconds(2, 60)).max_retries(5).props();
    let outer = BackoffSupervisor::on_stop("inner", inner, seconds(40, 50)).props();
    let clerk = system.spawn_with("outer", outer).unwrap();
    let mut watch = Console::of(system).by_hand();
    let mut failures = 0;
    let mut began = false;
    for second in 0..2_400 {
        if system.find("/user/outer/inner/clerk").is_some() {
            clerk.stamp().tell().unwrap();
            failures += 1;
        }
        look(system, &mut watch, 1).await;
        began |= watch.text().contains("Restart loop");
        assert!(!began || watch.text().contains("Restart loop"), "{second} s, {failures}: {}", watch.text());
    }
    // The reminders come at growing intervals, and nothing is over yet.
    assert_eq!(lines(&log, "is no longer in a restart loop"), 0, "{:#?}", log.all());
    assert!(failures > 100 && lines(&log, "in a restart loop") <= 16, "{failures}, {:#?}", log.all());
    look(system, &mut watch, 660).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
    assert_eq!(lines(&log, "is no longer in a restart loop"), 2, "{:#?}", log.all());
}

/// The supervisor restarts the clerk three times in place. Then it replaces the clerk.
#[supervise::test]
async fn con_13_a_loop_goes_on_while_the_actor_is_replaced(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let log = Log::open();
    let office = BackoffSupervisor::on_stop("clerk", || Clerk, seconds(40, 50)).max_retries(3).props();
    let clerk = system.spawn_with("office", office).unwrap();
    let mut watch = Console::of(system).by_hand();
    let mut began = false;
    for second in 0..1_800 {
        if system.find("/user/office/clerk").is_some() && second % 20 == 0 {
            clerk.stamp().tell().unwrap();
        }
        look(system, &mut watch, 1).await;
        began |= watch.text().contains("Restart loop");
        assert!(!began || watch.text().contains("Restart loop"), "{second} s: {}", watch.text());
    }
    assert_eq!(lines(&log, "is no longer in a restart loop"), 0, "{:#?}", log.all());
    assert!(lines(&log, "in a restart loop") <= 20, "{:#?}", log.all());
    look(system, &mut watch, 660).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
    assert_eq!(lines(&log, "clerk is no longer in a restart loop"), 2, "{:#?}", log.all());
}
