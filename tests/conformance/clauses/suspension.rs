//! S2 to S5, A1: the two lanes, suspension, deferral.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem, suspensions};
use supervise::{Backoff, Directive, Event, FailureKind, Outcome, Props, Strategy};

use super::{Worker, WorkerRef, failing, well};
use crate::fixture::{
    Boom, Keeper, KeeperRef, PingPong, PingPongRef, Stage, always_escalate, always_restart, child, fail, keeper,
    keeper_deciding, keeper_under, keeping, kept, ms, secs, within,
};

/// Restarts whatever fails, ten seconds later.
fn slowly() -> Strategy {
    Strategy::one_for_one().backoff(Backoff::exponential(secs(10), secs(10)))
}

/// Rule 1.3.
#[supervise::test]
async fn s2_2_what_a_handler_orders_comes_before_the_next_message(system: &TestSystem) {
    let probe = system.probe();
    let worker = system.spawn("worker", Worker::factory("worker", &probe.handle())).unwrap();
    worker.give(Box::new(|ctx| {
        ctx.stop_self();
        Ok(())
    }));
    worker.ping().tell().unwrap();
    assert_eq!(probe.all().await, ["worker stops"]);
    assert_eq!(system.expect_dead_letter(&worker).await.message, "Ping");
}

/// Rules 1.3, 8.1.
#[supervise::test]
async fn s2_3_a_suspended_actor_can_be_watched_and_its_watchers_are_told(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, slowly());
    let subject = child(&boss, "subject", PingPong::factory(&probe.handle())).await;
    subject.die("boom").tell().unwrap();
    system.expect_decision(&subject).await;
    let watcher = system
        .spawn_with("watcher", kept(Keeper::reporting("watcher", &probe.handle()), slowly(), always_restart));
    let (watcher, watched) = (watcher.unwrap(), subject.clone());
    within(&watcher, move |ctx| ctx.watch(&watched)).await;
    subject.actor_ref().stop();
    assert_eq!(probe.all().await, ["stopped", "watcher sees subject gone"]);
}

/// A chain of supervisors that keep their children, each restarting what is below it after a delay of its own.
async fn chain(
    system: &TestSystem,
    delays: [u64; 2],
    probe: &ProbeHandle<String>,
) -> (KeeperRef, KeeperRef, PingPongRef) {
    let delayed = |seconds| Strategy::one_for_one().backoff(Backoff::exponential(secs(seconds), secs(seconds)));
    let boss = keeper(system, delayed(delays[0]));
    let top = keeper_under(&boss, "top", keeping(delayed(delays[1]), always_restart)).await;
    let middle = keeper_under(&top, "middle", keeping(Strategy::one_for_one(), always_restart)).await;
    let leaf = child(&middle, "leaf", PingPong::factory(probe)).await;
    (top, middle, leaf)
}

/// Rule 2.3.
#[supervise::test]
async fn s2_4_two_failing_ancestors_are_two_suspensions(system: &TestSystem) {
    let probe = system.probe();
    let (top, middle, leaf) = chain(system, [30, 10], &probe.handle()).await;
    fail(&middle, "middle");
    system.advance(secs(5)).await;
    assert_eq!((suspensions(&middle), suspensions(&leaf)), (1, 1));
    fail(&top, "top");
    system.settle().await;
    assert_eq!((suspensions(&top), suspensions(&middle), suspensions(&leaf)), (1, 2, 2));
    leaf.ping().tell().unwrap();
    system.advance(secs(15)).await;
    assert_eq!(probe.all().await, ["restarted for middle"], "restarted, and still suspended");
    assert_eq!((suspensions(&middle), suspensions(&leaf)), (1, 1));
    system.advance(secs(15)).await;
    assert_eq!(probe.all().await, ["restarted for top", "ping"]);
    assert_eq!((suspensions(&top), suspensions(&middle), suspensions(&leaf)), (0, 0, 0));
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Rule 2.3.
#[supervise::test]
async fn s3_9_a_child_made_by_a_suspended_actor_waits_as_long_as_its_parent(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let boss = keeper(system, slowly());
    let top = keeper_under(&boss, "top", keeping(Strategy::one_for_one(), always_restart)).await;
    let parent: WorkerRef = child(&top, "parent", Worker::factory("parent", &voice.handle())).await;
    let (handle, news) = (probe.handle(), system.probe());
    let told = news.handle();
    parent
        .work(
            secs(1),
            Box::new(move |ctx| {
                let late = ctx.spawn("late", PingPong::factory(&handle)).expect("the name is free");
                late.ping().tell().expect("just made");
                told.note(late);
                Ok(())
            }),
        )
        .tell()
        .unwrap();
    system.settle().await;
    fail(&top, "boom");
    let late: PingPongRef = news.next().await;
    assert_eq!((suspensions(&parent), suspensions(&late)), (1, 1));
    system.advance(secs(8)).await;
    probe.expect_none().await;
    system.advance(secs(1)).await;
    assert_eq!(probe.all().await, ["restarted for boom", "ping"]);
    assert_eq!((suspensions(&parent), suspensions(&late)), (0, 0));
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Rules 2.2, 3.6.
#[supervise::test]
async fn s3_2_the_siblings_of_an_escalated_failure_wait_for_the_decision_above(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, slowly());
    let middle = keeper_under(&boss, "middle", keeping(Strategy::one_for_one(), always_escalate)).await;
    let culprit = child(&middle, "culprit", PingPong::factory(&probe.handle())).await;
    let sibling = child(&middle, "sibling", PingPong::factory(&probe.handle())).await;
    culprit.die("boom").tell().unwrap();
    system.expect_escalated(&culprit).await;
    // The culprit is suspended by its own failure and not once more.
    assert_eq!((suspensions(&middle), suspensions(&culprit), suspensions(&sibling)), (1, 1, 1));
    sibling.ping().tell().unwrap();
    system.advance(secs(9)).await;
    probe.expect_none().await;
    system.advance(secs(1)).await;
    assert_eq!(probe.all().await, ["restarted for boom", "restarted for boom", "ping"]);
    system.expect_decision(&middle).await;
}

/// Spawns its child at each start.
#[actor]
struct Parent {
    probe: ProbeHandle<WorkerRef>,
    voice: ProbeHandle<String>,
}

#[actor]
impl Parent {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.probe.note(ctx.spawn("child", Worker::factory("child", &self.voice))?);
        Ok(())
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("own"))
    }
}

/// Rule 2.6.
#[supervise::test]
async fn s4_5_s5_1_the_late_report_of_a_replaced_child_does_not_reach_its_namesake(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let boss = keeper(system, slowly());
    let asked = Arc::new(AtomicU32::new(0));
    let (handle, deep, counted) = (probe.handle(), voice.handle(), Arc::clone(&asked));
    let props = Props::new(move || Parent { probe: handle.clone(), voice: deep.clone() }).supervision_unchecked(
        Strategy::one_for_one(),
        move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(Directive::Stop)
        },
    );
    let parent = within(&boss, move |ctx| ctx.spawn_with("parent", props).expect("the name is free")).await;
    let first = probe.next().await;
    first.work(secs(1), failing("late")).tell().unwrap();
    system.settle().await;
    parent.fail().tell().unwrap();
    system.advance(secs(2)).await;
    assert_eq!(system.take_all(|event| matches!(event, Event::ReportDeferred { .. })).await.len(), 1);
    let second = probe.next().await;
    assert_eq!(system.take_all(|event| matches!(event, Event::ReportDropped { .. })).await.len(), 1);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert!(first.actor_ref().has_ended());
    assert_eq!(second.ping().await.unwrap(), "pong");
    system.expect_restarts(&second, 0).await;
    system.expect_restarts(&parent, 1).await;
}

/// Rule 6.4.
#[supervise::test]
async fn s4_6_s9_7_a_stop_while_a_restart_waits_for_a_child_makes_no_new_instance(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || crate::fixture::Witness::new("parent", &handle)).unwrap();
    let handle = probe.handle();
    child(&parent, "child", move || crate::fixture::Witness::slow("child", secs(2), &handle)).await;
    probe.all().await;
    fail(&parent, "boom");
    system.advance(secs(1)).await;
    parent.actor_ref().stop();
    parent.actor_ref().stop();
    system.expect_terminated(&parent).await;
    // By default `pre_restart` has run `post_stop` on the old instance, so it does not run a second time.
    assert_eq!(probe.all().await, ["parent stops", "child stops"]);
    system.expect_restarts(&parent, 0).await;
}

/// Rule 3.7.
#[supervise::test]
async fn s5_5_a_decider_that_panics_fails_its_supervisor_with_that_panic(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let middle = keeping(Strategy::one_for_one(), |failure: &Failure| {
        assert!(failure.to_string() != "boom", "no idea");
        Directive::Resume
    });
    let middle = keeper_under(&boss, "middle", middle).await;
    let leaf = child(&middle, "leaf", PingPong::factory(&probe.handle())).await;
    leaf.die("boom").tell().unwrap();
    let decided = system.expect_decision(&middle).await;
    assert_eq!(decided.failure.kind(), FailureKind::Panic);
    assert_eq!(decided.outcome, Outcome::Restarting { children: 1, delay: None });
    let failed = system.take_all(|event| matches!(event, Event::DeciderFailed { .. })).await;
    assert_eq!(failed.len(), 1);
    assert_eq!(leaf.ping().timeout(secs(1)).await.unwrap(), "pong", "restarted with its supervisor");
    assert_eq!((suspensions(&middle), suspensions(&leaf)), (0, 0));
}

/// Rule 3.1.
#[supervise::test]
async fn s5_6_a_decider_is_told_whose_failure_it_is_and_how_often_it_was_restarted(system: &TestSystem) {
    let (probe, seen) = (system.probe(), system.probe());
    let handle = seen.handle();
    let props =
        Props::new(Keeper::new).supervision_unchecked(Strategy::one_for_one().max_retries(2), move |_, info| {
            handle.note((info.name.to_string(), info.restarts));
            Ok(Directive::Restart)
        });
    let boss = system.spawn_with("boss", props).unwrap();
    for name in ["a", "b"] {
        let actor = child(&boss, name, PingPong::factory(&probe.handle())).await;
        actor.die("1").tell().unwrap();
        actor.die("2").tell().unwrap();
        assert_eq!(seen.all().await, [(name.to_owned(), 0), (name.to_owned(), 1)]);
        system.expect_restarts(&actor, 2).await;
    }
}

/// Rule 1.4.
#[supervise::test]
async fn a1_a_parked_parent_decides_suspends_and_hears_but_starts_no_message(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let parent = system.spawn("parent", Worker::factory("parent", &voice.handle())).unwrap();
    let leaf = child(&parent, "leaf", PingPong::factory(&probe.handle())).await;
    parent.work(secs(10), well()).tell().unwrap();
    parent.ping().tell().unwrap();
    system.settle().await;
    leaf.die("boom").tell().unwrap();
    probe.expect("restarted for boom".to_owned()).await;
    let again = within_parked(&leaf).await;
    assert_eq!(again, "pong", "decided while its parent waits");
    leaf.actor_ref().stop();
    system.expect_terminated(&leaf).await;
    assert_eq!(voice.all().await, ["parent works"]);
    system.advance(secs(10)).await;
    assert_eq!(voice.all().await, ["parent is done", "parent answers"]);
    system.expect_restarts(&leaf, 1).await;
}

async fn within_parked(leaf: &PingPongRef) -> &'static str {
    leaf.ping().timeout(ms(1)).await.expect("at once")
}

/// Never idle: it sends itself the next message before it has handled this one.
#[actor]
struct Restless {
    voice: ProbeHandle<String>,
    rounds: Arc<AtomicU32>,
}

#[actor]
impl Restless {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<PingPongRef, SpawnError> {
        ctx.spawn("child", PingPong::factory(&self.voice))
    }

    #[handler]
    fn spin(&mut self, ctx: &mut Context<Self>) {
        if self.rounds.fetch_add(1, Ordering::Relaxed) < u32::MAX / 2 {
            ctx.me().spin().tell().expect("it runs");
        }
    }

    #[handler]
    async fn churn(&mut self) {
        loop {
            tokio::task::yield_now().await;
            self.rounds.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn restless(voice: &ProbeHandle<String>) -> (impl FnMut() -> Restless + Send + 'static, Arc<AtomicU32>) {
    let (voice, rounds) = (voice.clone(), Arc::new(AtomicU32::new(0)));
    let shared = Arc::clone(&rounds);
    (move || Restless { voice: voice.clone(), rounds: Arc::clone(&shared) }, rounds)
}

/// Gives all actors some turns although one is always busy, moves the clock, and gives them more turns.
async fn drag_on(time: Duration) {
    for time in [Duration::ZERO, time] {
        tokio::time::advance(time).await;
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }
}

/// Rule 7.8.
#[supervise::test]
async fn a10_a_supervisor_that_is_never_idle_restarts_its_child_when_the_delay_is_over(system: &TestSystem) {
    let voice = system.probe();
    let (factory, rounds) = restless(&voice.handle());
    let props = Props::new(factory).supervision_unchecked(slowly(), |_, _| Ok(Directive::Restart));
    let restless = system.spawn_with("restless", props).unwrap();
    let leaf = restless.open().await.unwrap();
    restless.spin().tell().unwrap();
    leaf.die("boom").tell().unwrap();
    let answer = leaf.count().ask().unwrap();
    drag_on(ms(9_990)).await;
    let before = rounds.load(Ordering::Relaxed);
    assert_eq!(suspensions(&leaf), 1);
    drag_on(ms(20)).await;
    assert!(rounds.load(Ordering::Relaxed) > before, "it spun all the time");
    assert_eq!(suspensions(&leaf), 0);
    rounds.store(u32::MAX / 2, Ordering::Relaxed);
    assert_eq!(answer.await.unwrap(), 1);
    system.expect_restarts(&leaf, 1).await;
}

/// Rule 6.1.
#[supervise::test]
async fn a2_a_handler_that_is_never_idle_is_aborted_after_the_stop_timeout(system: &TestSystem) {
    let voice = system.probe();
    let (factory, rounds) = restless(&voice.handle());
    let restless = system.spawn("restless", factory).unwrap();
    restless.churn().tell().unwrap();
    drag_on(secs(60)).await;
    restless.actor_ref().stop();
    drag_on(ms(4_990)).await;
    assert!(!restless.actor_ref().has_ended());
    assert!(rounds.load(Ordering::Relaxed) > 0);
    drag_on(ms(20)).await;
    assert!(restless.actor_ref().has_ended());
    assert_eq!(system.expect_terminated(&restless).await, supervise::HowEnded::Aborted);
}
