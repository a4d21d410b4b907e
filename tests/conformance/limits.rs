//! LIM: how many restarts are granted.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{FailureKind, Outcome, Strategy};

use crate::fixture::{PingPong, PingPongRef, always_restart, child, keeper, keeper_deciding, ms, secs};

/// One failure under `strategy`, and its outcome.
async fn outcomes(system: &TestSystem, strategy: Strategy, pauses: &[Duration]) -> Vec<bool> {
    let probe = system.probe();
    let keeper = keeper(system, strategy);
    let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    let mut granted = Vec::new();
    for pause in pauses {
        system.advance(*pause).await;
        assert!(matches!(actor.die("boom").await, Err(AskError::Failed(_))));
        let decision = system.expect_decision(&actor).await;
        granted.push(matches!(decision.outcome, Outcome::Restarting { children: 1, delay: None }));
    }
    assert_eq!(actor.actor_ref().has_ended(), granted.last() == Some(&false));
    granted
}

/// Rule 7.3.
#[supervise::test]
async fn lim_01_stays_dead_after_max_restarts_within_the_window(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one().max_retries(2).within(secs(1)));
    let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    actor.ping().tell().unwrap();
    actor.die("one").tell().unwrap();
    actor.ping().tell().unwrap();
    for heard in ["ping", "restarted for one", "ping"] {
        probe.expect(heard.to_owned()).await;
    }
    actor.die("two").tell().unwrap();
    actor.ping().tell().unwrap();
    for heard in ["restarted for two", "ping"] {
        probe.expect(heard.to_owned()).await;
    }
    actor.die("three").tell().unwrap();
    probe.expect("stopped".to_owned()).await;
    assert!(
        matches!(actor.ping().await, Err(AskError::StoppedByFailure(failure)) if failure.to_string() == "three")
    );
    system.expect_dead_letter(&actor).await;
    probe.expect_none().await;
    system.expect_restarts(&actor, 2).await;
}

/// Rule 3.3.
#[supervise::test]
async fn lim_02_is_immortal_without_limit(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    for _ in 0..100 {
        actor.die("again").tell().unwrap();
    }
    system.expect_restarts(&actor, 100).await;
    assert_eq!(probe.all().await, vec!["restarted for again".to_owned(); 100]);
    assert!(!actor.actor_ref().has_ended());
}

/// Rule 7.5.
#[supervise::test]
async fn lim_04_a_quota_without_window_is_for_life(system: &TestSystem) {
    let strategy = Strategy::one_for_one().max_retries(2);
    assert_eq!(outcomes(system, strategy, &[ms(0), ms(0), ms(700)]).await, [true, true, false]);
}

/// Rule 7.3.
#[supervise::test]
async fn lim_05_a_window_alone_grants_one_restart_and_keeps_what_is_queued(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one().within(secs(1)));
    let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    actor.die("one").tell().unwrap();
    actor.ping().tell().unwrap();
    actor.die("two").tell().unwrap();
    for heard in ["restarted for one", "ping", "stopped"] {
        probe.expect(heard.to_owned()).await;
    }
    system.expect_terminated(&actor).await;
    system.expect_restarts(&actor, 1).await;
}

/// Rule 7.5.
#[supervise::test]
async fn lim_07_neither_limit_nor_window_grants_any_number(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::all_for_one());
    let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    for _ in 0..7 {
        assert!(
            matches!(actor.die("again").await, Err(AskError::Failed(failure)) if failure.to_string() == "again")
        );
        probe.expect("restarted for again".to_owned()).await;
    }
    assert_eq!(actor.ping().await.unwrap(), "pong");
    system.expect_restarts(&actor, 7).await;
}

/// Rule 7.3.
#[supervise::test]
async fn lim_08_a_window_alone_counts_as_one_retry(system: &TestSystem) {
    let strategy = Strategy::one_for_one().within(secs(10));
    assert_eq!(outcomes(system, strategy, &[ms(0), ms(500)]).await, [true, false]);
}

/// Rule 7.3.
#[supervise::test]
async fn lim_10_a_window_of_thirty_days_counts_one_for_one(system: &TestSystem) {
    let month = secs(30 * 24 * 3600);
    let strategy = Strategy::one_for_one().max_retries(2).within(month);
    assert_eq!(outcomes(system, strategy, &[ms(0), ms(1), ms(1)]).await, [true, true, false]);
}

/// Rule 7.3.
#[supervise::test]
async fn lim_11_a_window_of_thirty_days_counts_all_for_one(system: &TestSystem) {
    let month = secs(30 * 24 * 3600);
    let strategy = Strategy::all_for_one().max_retries(2).within(month);
    assert_eq!(outcomes(system, strategy, &[ms(0), ms(1), ms(1)]).await, [true, true, false]);
}

/// Rules 7.6, 8.1.
#[supervise::test]
async fn lim_13_a_watching_supervisor_hears_of_a_permanent_failure(system: &TestSystem) {
    let seen = system.probe();
    let probe = system.probe();
    let boss = system.spawn("boss", {
        let (seen, probe) = (seen.handle(), probe.handle());
        move || Watching { seen: seen.clone(), probe: probe.clone() }
    });
    let boss = boss.unwrap();
    let victim = boss.victim().await.unwrap().unwrap();
    victim.actor_ref().kill();
    probe.expect("restarted for killed".to_owned()).await;
    seen.expect_none().await;
    victim.actor_ref().kill();
    probe.expect("stopped".to_owned()).await;
    seen.expect("victim").await;
    seen.expect_none().await;
    system.expect_restarts(&victim, 1).await;
}

/// Restarts a killed child once, and watches it.
#[actor]
#[supervise(one_for_one(max_retries = 1, within = "5s"), on(_) = Restart)]
struct Watching {
    seen: supervise::testkit::ProbeHandle<&'static str>,
    probe: supervise::testkit::ProbeHandle<String>,
}

#[actor]
impl Watching {
    #[handler]
    fn victim(&mut self, ctx: &mut Context<Self>) -> Reply<Result<PingPongRef, SpawnError>> {
        let victim = ctx.spawn("victim", PingPong::factory(&self.probe));
        if let Ok(victim) = &victim {
            ctx.watch(victim);
        }
        Reply(victim)
    }

    #[watch]
    fn gone(&mut self, _: Terminated<PingPong>) {
        self.seen.note("victim");
    }
}

/// Rule 8.1.
#[supervise::test]
async fn lim_14_dw_05_one_terminated_when_it_stops_none_when_it_restarts(system: &TestSystem) {
    let probe = system.probe();
    let seen = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one().max_retries(2), always_restart);
    let subject = child(&keeper, "subject", PingPong::factory(&probe.handle())).await;
    let watcher = system.spawn("watcher", {
        let seen = seen.handle();
        move || crate::fixture::Witness::new("watcher", &seen)
    });
    let watcher = watcher.unwrap();
    crate::fixture::within(&watcher, {
        let subject = subject.clone();
        move |ctx| ctx.watch(&subject)
    })
    .await;
    for _ in 0..2 {
        subject.actor_ref().kill();
        assert_eq!(subject.ping().await.unwrap(), "pong");
    }
    assert_eq!(seen.all().await, ["watcher starts"]);
    subject.actor_ref().kill();
    seen.expect("watcher sees subject gone".to_owned()).await;
    seen.expect_none().await;
    assert!(subject.actor_ref().has_ended());
    let last = system.take_all(|event| matches!(event, supervise::Event::Decided { .. })).await;
    assert_eq!(last.len(), 3);
    assert!(last.iter().all(|event| matches!(
        event,
        supervise::Event::Decided { failure, .. } if failure.kind() == FailureKind::Killed
    )));
}

/// The rows that apply here: a setting that is missing means no limit, zero retries grant no restart, and fractions
/// of a millisecond are kept, for each strategy. A window of zero is refused. Rule 7.5.
#[test]
fn lim_18_what_a_strategy_is_built_with_is_what_it_has() {
    for scope in [Strategy::one_for_one, Strategy::all_for_one, Strategy::rest_for_one] {
        assert_eq!(scope().limit, supervise::Limit::UNLIMITED);
        assert_eq!(scope().max_retries(0).limit.max_retries, Some(0));
        assert_eq!(scope().max_retries(5).limit.max_retries, Some(5));
        assert_eq!(scope().max_retries(5).limit.within, None);
        let odd = Duration::from_nanos(100_007_500);
        assert_eq!(scope().within(odd).limit.within, Some(odd));
        assert_eq!(scope().within(secs(10)).limit.within, Some(ms(10_000)));
        assert_eq!(scope().within(secs(10)).limit.max_retries, None);
        assert!(std::panic::catch_unwind(|| scope().within(Duration::ZERO)).is_err());
    }
}
