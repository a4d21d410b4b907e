//! The line of a failure.

use std::cell::Cell;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Event, Interest};

use crate::fixture::{Boom, ms, secs};
use crate::log::Log;

thread_local! {
    /// The lines of this test only. Other tests run on other threads.
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

fn is_known(boom: &str) -> bool {
    GUARDED.set(GUARDED.get() + 1);
    boom == "known"
}

/// Fails in the way that it is told to.
#[actor]
struct Gateway {
    fails_to_start: bool,
}

#[actor]
impl Gateway {
    #[pre_start]
    fn connect(&mut self) -> Result<(), Boom> {
        if self.fails_to_start { Err(Boom("no line")) } else { Ok(()) }
    }

    #[handler]
    fn charge(&mut self, why: &'static str) -> Result<(), Boom> {
        assert!(why != "panic", "as told");
        Err(Boom(why))
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 5, within = "60s", log = by_attempt(3)),
    on(Boom if |boom| is_known(boom.0)) = Restart,
    on(Boom) = Restart(backoff(min = "2s", max = "8s")),
    on(Panic) = Restart,
    on(_) = Stop
)]
struct Payments;

#[actor]
impl Payments {
    #[handler]
    fn open(&mut self, failed_starts: u32, ctx: &mut Context<Self>) -> Result<GatewayRef, SpawnError> {
        let mut starts = 0;
        ctx.spawn("gateway", move || {
            starts += 1;
            Gateway { fails_to_start: starts > 1 && starts <= 1 + failed_starts }
        })
    }
}

/// Rules 10.5, 10.6.
#[supervise::test]
async fn con_11_con_12_a_line_names_handler_rule_attempt_and_budget(system: &TestSystem) {
    let payments = system.spawn("payments", || Payments).unwrap();
    let gateway = payments.open(0).await.unwrap();
    system.settle().await;
    let log = Log::open();
    let mut rules = Vec::new();
    for why in ["known", "panic", "other", "known"] {
        gateway.charge(why).tell().unwrap();
        system.advance(secs(2)).await;
    }
    for event in system.take_all(|event| matches!(event, Event::Decided { .. })).await {
        let Event::Decided { rule, attempt, standing, .. } = event else { unreachable!("taken so") };
        rules.push((rule.unwrap_or("none"), attempt, standing.map(|standing| standing.used)));
    }
    let guarded = "Boom if |boom| is_known(boom.0)";
    assert_eq!(
        rules,
        [(guarded, 1, Some(1)), ("Panic", 2, Some(2)), ("Boom", 1, Some(3)), (guarded, 2, Some(4))],
        "a backoff counts for itself"
    );
    assert_eq!(GUARDED.get(), 3, "each guard runs once");
    let warnings = log.warnings();
    assert_eq!((warnings.len(), log.errors().len()), (4, 0), "{warnings:?}");
    let third = &warnings[2];
    for part in [
        "message=gateway failed in charge: other; it restarts in 2 s ",
        "actor=supervise://test/user/payments/gateway ",
        "during=\"charge\" ",
        "rule=\"Boom\" ",
        "outcome=\"restart\" ",
        "delay=2s ",
        "attempt=1 ",
        "used=\"3 of 5 in 60s\" ",
        "supervisor=supervise://test/user/payments ",
    ] {
        assert!(third.contains(part), "{part} in {third}");
    }
    assert!(!third.contains("Backoff") && !third.contains("origin="), "{third}");
    system.expect_restarts(&gateway, 4).await;
}

/// Rule 10.6.
#[supervise::test]
async fn con_14_a_row_ends_with_one_line_that_says_how_long_it_was(system: &TestSystem) {
    let payments = system.spawn("payments", || Payments).unwrap();
    let gateway = payments.open(3).await.unwrap();
    system.settle().await;
    let log = Log::open();
    gateway.charge("other").tell().unwrap();
    system.advance(secs(60)).await;
    let (warnings, errors) = (log.warnings(), log.errors());
    assert_eq!((warnings.len(), errors.len()), (3, 1), "{warnings:?} {errors:?}");
    assert!(
        errors[0].contains("gateway could not restart in pre_start: no line; it restarts in 8 s"),
        "{errors:?}"
    );
    let said = log.at(tracing::Level::INFO);
    assert!(matches!(&said[..], [said] if said.contains("gateway restarted after 4 failures")), "{said:?}");
    system.expect_restarts(&gateway, 1).await;
}

/// Fails in the way that it is told to. Eight of its starts fail.
#[actor]
struct Feed {
    starts: u32,
}

#[actor]
impl Feed {
    #[pre_start]
    fn connect(&mut self) -> Result<(), Boom> {
        if self.starts <= 8 { Err(Boom("no line")) } else { Ok(()) }
    }

    #[handler]
    fn fail(&mut self, why: &'static str) -> Result<(), Boom> {
        Err(Boom(why))
    }
}

#[actor]
#[supervise(
    one_for_one(backoff(min = "200ms", max = "5s"), log = by_attempt(3)),
    on(Boom if |boom| boom.0 == "bad") = Resume,
    on(Boom) = Restart,
)]
struct Feeds;

#[actor]
impl Feeds {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<FeedRef, SpawnError> {
        let mut starts = 0;
        ctx.spawn("feed", move || {
            starts += 1;
            Feed { starts }
        })
    }
}

/// Rules 7.8, 10.6.
#[supervise::test]
async fn con_12_a_resumed_failure_belongs_to_the_streak_of_the_backoff(system: &TestSystem) {
    let feeds = system.spawn("feeds", || Feeds).unwrap();
    let feed = feeds.open().await.unwrap();
    // The delays of the failed starts: 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5 and 5 s.
    system.advance(ms(21_200)).await;
    let log = Log::open();
    let mut attempts = Vec::new();
    // A streak ends 5 s after its last restart, or 5 s after its last failure if it has no restart.
    for (wait, why) in [
        (ms(4_900), "bad"),
        (ms(50), "bad"),
        (ms(50), "bad"),
        (ms(0), "worse"),
        (ms(5_100), "bad"),
        (ms(100), "bad"),
        (ms(4_000), "bad"),
        (ms(6_000), "bad"),
    ] {
        system.advance(wait).await;
        assert!(feed.fail(why).await.is_err());
        let decisions = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
        let Some(Event::Decided { attempt, .. }) = decisions.last() else { panic!("{why} is not decided") };
        attempts.push(*attempt);
    }
    assert_eq!(attempts, [9, 10, 1, 1, 2, 1, 2, 1]);
    assert_eq!((log.errors().len(), log.warnings().len()), (2, 6), "by_attempt(3)");
}

/// Rule 10.7.
#[supervise::test]
async fn con_30_a_subscriber_of_failures_gets_no_others(system: &TestSystem) {
    let mut failures = system.events().subscribe_to(Interest::FAILURES);
    let payments = system.spawn("payments", || Payments).unwrap();
    let gateway = payments.open(0).await.unwrap();
    gateway.charge("known").tell().unwrap();
    system.advance(ms(1)).await;
    assert!(matches!(failures.try_recv(), Some(Event::Decided { attempt: 1, .. })));
    assert!(failures.try_recv().is_none());
    system.expect_restarts(&gateway, 1).await;
}
