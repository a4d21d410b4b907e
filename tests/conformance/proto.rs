//! PRO: behaviour that Proto.Actor and Phluxor share, and the arithmetic of their strategy.

use std::time::Duration;

use supervise::prelude::*;
use supervise::supervision::{BackoffCount, Permit, RestartStatistics};
use supervise::testkit::{self, ProbeHandle, TestProbe, TestSystem};
use supervise::{Backoff, Directive, Event, HowEnded, Outcome, Strategy, Window};

use crate::fixture::{
    Boom, PingPong, PingPongRef, always_restart, child, how_ended, keeper, keeper_deciding, ms, secs,
};
use crate::log::Log;

/// Past failures, the limit, whether the next one restarts, and how many the statistics remember then.
///
/// Their row "two failures five seconds ago, one allowed in ten" asks about a history that only exists when the limit was
/// lowered meanwhile: it is built here the same way.
/// Rule 7.4.
#[test]
fn pro_01_pro_02_pro_03_pro_04_pro_05_pro_06_who_may_restart() {
    let now = secs(100);
    let wide = Strategy::one_for_one().max_retries(9).within(secs(1000)).window(Window::Sliding).limit;
    let limit = |retries, within: Option<Duration>| {
        let strategy = Strategy::one_for_one().max_retries(retries).window(Window::Sliding);
        within.map_or(strategy, |within| strategy.within(within)).limit
    };
    let ten = Some(secs(10));
    for (case, retries, within, seconds_ago, restarts, remembered) in [
        (1, 0, None, &[][..], false, 0),
        (2, 1, None, &[], true, 1),
        (3, 1, None, &[1], false, 2),
        (4, 2, ten, &[5], true, 2),
        (5, 1, ten, &[5, 5], false, 2),
        (6, 1, ten, &[11, 11], true, 1),
    ] {
        let limit = limit(retries, within);
        let mut statistics = RestartStatistics::default();
        for ago in seconds_ago {
            let history = if within.is_some() { &wide } else { &limit };
            assert_eq!(statistics.permit(history, now.saturating_sub(secs(*ago))), Permit::Granted, "row {case}");
        }
        assert_eq!(statistics.permit(&limit, now) == Permit::Granted, restarts, "row {case}");
        assert_eq!(statistics.count(), remembered, "row {case}: they clear the list on a stop, we end the child");
    }
}

/// Rule 7.3.
#[test]
fn pro_07_ten_restarts_then_the_end() {
    let settings = ActorSystem::builder("test")
        .guardian_unchecked(Strategy::one_for_one().max_retries(10).within(secs(10)), |_, _| {
            Ok(Directive::Restart)
        });
    testkit::run_with(settings, async |system: &TestSystem| {
        let probe = system.probe();
        let handle = probe.handle();
        let actor = system.spawn("actor", move || Living { probe: handle.clone() }).unwrap();
        assert_eq!(probe.all().await, ["started"]);
        for _ in 0..10 {
            actor.fail().tell().unwrap();
            assert_eq!(probe.all().await, ["restarting", "started"]);
        }
        actor.fail().tell().unwrap();
        assert_eq!(probe.all().await, ["stopped"]);
        system.expect_restarts(&actor, 10).await;
    });
}

/// Notes the steps of its life cycle.
#[actor]
struct Living {
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Living {
    #[pre_start]
    fn started(&mut self) {
        self.probe.note("started");
    }

    #[handler]
    fn greet(&mut self, text: &'static str) {
        self.probe.note(text);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[pre_restart]
    fn restarting(&mut self) {
        self.probe.note("restarting");
    }

    #[post_stop]
    fn stopped(&mut self) {
        self.probe.note("stopped");
    }
}

/// Rule 10.2.
#[supervise::test]
async fn pro_09_every_decision_is_an_event(system: &TestSystem) {
    let backoff = Backoff::linear(secs(10), secs(1));
    for (name, strategy) in [
        ("all", Strategy::all_for_one()),
        ("exponential", Strategy::one_for_one().backoff(backoff)),
        ("one", Strategy::one_for_one().max_retries(10)),
        ("always", Strategy::one_for_one()),
    ] {
        let probe = system.probe();
        let keeper =
            system.spawn_with(name, crate::fixture::keeping(strategy, always_restart)).expect("another name");
        let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
        actor.die("boom").tell().unwrap();
        let decision = system.expect_decision(&actor).await;
        assert_eq!(decision.supervisor, keeper.actor_ref().path());
        assert_eq!(decision.failure.downcast_ref(), Some(&Boom("boom")));
        assert_eq!(decision.directive, Directive::Restart);
        assert!(matches!(decision.outcome, Outcome::Restarting { children: 1, .. }));
    }
}

/// The count after ten failures this long ago and one now, under a window of ten seconds.
fn counted(age: Duration) -> u32 {
    let backoff = Backoff::linear(secs(10), secs(1));
    let mut count = BackoffCount::default();
    for _ in 0..10 {
        count.failed(&backoff, secs(100).saturating_sub(age), 0.0);
    }
    count.failed(&backoff, secs(100), 0.0);
    count.count()
}

/// Rule 7.9.
#[test]
fn pro_10_old_failures_are_forgotten() {
    assert_eq!(counted(secs(11)), 1);
}

/// Rule 7.9.
#[test]
fn pro_11_recent_failures_are_counted() {
    assert_eq!(counted(secs(9)), 11);
}

/// Rule 7.9.
#[test]
fn pro_12_pro_13_a_count_grows_and_starts_anew() {
    let backoff = Backoff::linear(secs(10), ms(500));
    let mut count = BackoffCount::default();
    let delays: Vec<_> = (0..3).map(|_| count.failed(&backoff, secs(1), 0.0)).collect();
    assert_eq!(count.count(), 3);
    assert_eq!(delays, [ms(500), ms(1000), ms(1500)]);
    assert_eq!(count.failed(&backoff, secs(20), 0.0), ms(500));
    assert_eq!(count.count(), 1);
    count.reset();
    assert_eq!(count.count(), 0);
}

/// Two siblings under all-for-one with this table; the first one fails.
async fn all_for_one(system: &TestSystem, directive: Directive) -> (PingPongRef, PingPongRef, TestProbe<String>) {
    let probe = system.probe();
    let keeper = keeper_deciding(system, Strategy::all_for_one(), move |_| directive);
    let culprit = child(&keeper, "culprit", PingPong::factory(&probe.handle())).await;
    let sibling = child(&keeper, "sibling", PingPong::factory(&probe.handle())).await;
    for actor in [&culprit, &sibling] {
        assert_eq!(actor.count().await.unwrap(), 1);
    }
    culprit.die("boom").tell().unwrap();
    system.settle().await;
    (culprit, sibling, probe)
}

/// Rule 3.4.
#[supervise::test]
async fn pro_22_all_for_one_resumes_only_the_culprit(system: &TestSystem) {
    let (culprit, sibling, probe) = all_for_one(system, Directive::Resume).await;
    let resumed = system.take_all(|event| matches!(event, Event::Resumed { .. })).await;
    assert!(
        matches!(&resumed[..], [Event::Resumed { actor, .. }] if *actor == culprit.actor_ref().path()),
        "{resumed:?}"
    );
    for actor in [&culprit, &sibling] {
        assert_eq!(actor.count().await.unwrap(), 2);
    }
    probe.expect_none().await;
    system.expect_decision(&culprit).await;
}

/// Rule 7.1.
#[supervise::test]
async fn pro_23_all_for_one_stops_both(system: &TestSystem) {
    let (culprit, sibling, probe) = all_for_one(system, Directive::Stop).await;
    assert_eq!(probe.all().await, ["stopped", "stopped"]);
    assert!(culprit.actor_ref().has_ended() && sibling.actor_ref().has_ended());
    assert_eq!(system.expect_decision(&culprit).await.outcome, Outcome::Stopped { children: 2 });
}

/// Rule 7.1.
#[supervise::test]
async fn pro_24_all_for_one_restarts_both_with_the_same_reason(system: &TestSystem) {
    let (culprit, sibling, probe) = all_for_one(system, Directive::Restart).await;
    assert_eq!(probe.all().await, ["restarted for boom", "restarted for boom"]);
    let restarts = system.take_all(|event| matches!(event, Event::Restarted { .. })).await;
    let [Event::Restarted { failure: first, .. }, Event::Restarted { failure: second, .. }] = &restarts[..] else {
        panic!("{restarts:?}")
    };
    assert!(first.is_same(second));
    for actor in [&culprit, &sibling] {
        assert_eq!(actor.count().await.unwrap(), 1);
    }
    system.expect_decision(&culprit).await;
}

/// Rule 3.6.
#[supervise::test]
async fn pro_25_all_for_one_escalates_the_culprit_s_reason(system: &TestSystem) {
    let (culprit, sibling, probe) = all_for_one(system, Directive::Escalate).await;
    let cause = system.expect_escalated(&culprit).await;
    let above = system
        .expect("the guardian's decision", |event| match event {
            Event::Decided { child, failure, .. } if child.name() == "keeper" => Some(failure.clone()),
            _ => None,
        })
        .await;
    assert!(above.is_same(&cause));
    // Kept by their restarted supervisor, so restarted with it.
    assert_eq!(probe.all().await.len(), 2);
    for actor in [&culprit, &sibling] {
        assert_eq!(actor.count().await.unwrap(), 1);
    }
}

/// Rule 7.4.
#[test]
fn pro_26_failures_in_a_window() {
    let sliding = |within| {
        let strategy = Strategy::one_for_one().max_retries(100).window(Window::Sliding);
        strategy.within(within).limit
    };
    let mut statistics = RestartStatistics::default();
    assert_eq!(statistics.count(), 0, "zero at the start");
    assert_eq!(statistics.permit(&sliding(secs(3)), secs(10)), Permit::Granted);
    assert_eq!(statistics.count(), 1, "a failure is one more");
    assert_eq!(statistics.permit(&sliding(secs(3)), secs(12)), Permit::Granted);
    assert_eq!(statistics.count(), 2, "two seconds apart, within three");
    let mut narrow = RestartStatistics::default();
    for at in [10, 12] {
        assert_eq!(narrow.permit(&sliding(secs(1)), secs(at)), Permit::Granted);
    }
    assert_eq!(narrow.count(), 1, "two seconds apart, not within one");
    let mut all = RestartStatistics::default();
    let lifetime = Strategy::one_for_one().max_retries(100).limit;
    for at in [10, 12, 10_000] {
        assert_eq!(all.permit(&lifetime, secs(at)), Permit::Granted);
    }
    assert_eq!(all.count(), 3, "no window remembers all");
    assert_eq!(RestartStatistics::default().count(), 0);
}

/// The table for top-level actors is a setting of each system, so two strategies need two systems. Rule 9.1.
#[test]
fn pro_28_each_system_has_a_guardian_of_its_own() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let first = ActorSystem::builder("test").start().unwrap();
        let second =
            ActorSystem::builder("test").guardian_unchecked(Strategy::all_for_one(), |_, _| Ok(Directive::Stop));
        let second = second.start().unwrap();
        assert_eq!(first.user_guardian().path(), second.user_guardian().path());
        assert_ne!(first.user_guardian(), second.user_guardian());
        assert_ne!(first.user_guardian().uid(), second.user_guardian().uid());
        second.terminate().await;
        assert!(second.user_guardian().has_ended() && !first.user_guardian().has_ended());
        first.terminate().await;
    });
}

/// Rule 6.3.
#[supervise::test]
async fn pro_29_started_messages_stopped(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let actor = system.spawn("actor", move || Living { probe: handle.clone() }).unwrap();
    actor.greet("hello").await.unwrap();
    system.stop(&actor);
    assert_eq!(probe.all().await, ["started", "hello", "stopped"]);
    assert_eq!(how_ended(system, &actor).await, HowEnded::Graceful);
}

/// Waits for five seconds or for its own stop, whichever comes first.
#[actor]
struct Attentive {
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Attentive {
    #[handler]
    async fn work(&mut self, ctx: &mut Context<Self>) -> bool {
        let stopping = ctx.stopping();
        let finished = tokio::select! {
            () = stopping => false,
            () = tokio::time::sleep(secs(5)) => true,
        };
        self.probe.note(if finished { "finished" } else { "cancelled" });
        finished
    }

    #[post_stop]
    fn stopped(&mut self, ctx: &mut Context<Self>) {
        assert!(!ctx.was_aborted());
        self.probe.note("stopped");
    }
}

/// Rule 6.1.
#[supervise::test]
async fn pro_31_a_handler_that_waits_for_the_stop_completes_first(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let actor = system.spawn("actor", move || Attentive { probe: handle.clone() }).unwrap();
    let work = actor.work().ask().unwrap();
    system.advance(ms(15)).await;
    probe.expect_none().await;
    system.stop(&actor);
    assert_eq!(probe.all().await, ["cancelled", "stopped"], "without time moving");
    assert!(!work.await.unwrap(), "its answer was given");
    assert_eq!(how_ended(system, &actor).await, HowEnded::Graceful);
}

/// Rule 9.2.
#[supervise::test]
async fn pro_32_nothing_goes_on_after_the_end_of_the_system(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    system.settle().await;
    system.terminate().await;
    let refused = system.spawn("late", PingPong::factory(&probe.handle())).unwrap_err();
    assert!(matches!(refused, SpawnError::Stopping { .. }), "{refused}");
    assert!(matches!(actor.ping().await, Err(AskError::Stopped)));
    system.expect_dead_letter(&actor).await;
}

/// Rule 6.5.
#[supervise::test]
async fn pro_33_poison_ends_the_living_and_spares_the_dead(system: &TestSystem) {
    let log = Log::open();
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    actor.actor_ref().poison();
    system.expect_terminated(&actor).await;
    actor.actor_ref().poison();
    system.settle().await;
    assert_eq!(probe.all().await, ["stopped"]);
    let noise = log.all().into_iter().filter(|record| record.level <= tracing::Level::INFO).count();
    assert_eq!(noise, 0);
}
