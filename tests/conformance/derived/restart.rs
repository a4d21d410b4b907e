//! Z: what a restart does, and in which order.

use std::sync::Arc;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem, suspensions};
use supervise::{Event, Hook, Stage, Strategy};

use super::broken_at;
use crate::fixture::{
    Boom, PingPong, PingPongRef, Witness, always_restart, as_in_akka, child, fail, keeper, keeper_deciding,
    names_of_children, secs, within,
};
use crate::log::Log;

/// Rule 4.2.
#[supervise::test]
async fn z_13_the_order_of_a_default_restart(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || {
        handle.note("parent is made".to_owned());
        Witness::new("parent", &handle)
    });
    let parent = parent.unwrap();
    let handle = probe.handle();
    child(&parent, "child", move || Witness::slow("child", secs(1), &handle)).await;
    probe.all().await;
    fail(&parent, "boom");
    system.advance(secs(1)).await;
    assert_eq!(probe.all().await, ["parent stops", "child stops", "parent is made", "parent starts"]);
    system.expect_restarts(&parent, 1).await;
}

/// Rule 6.4.
#[supervise::test]
async fn z_16_an_instance_that_was_replaced_is_not_stopped_again(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one(), as_in_akka);
    let actor = child(&keeper, "actor", broken_at(&[2], probe.handle())).await;
    fail(&actor, "boom");
    system.expect_terminated(&actor).await;
    assert_eq!(probe.all().await, ["actor starts", "actor stops"]);
    assert_eq!(system.expect_decision(&actor).await.failure.stage(), Stage::Running);
    assert_eq!(system.expect_decision(&actor).await.failure.stage(), Stage::PostRestart);
}

/// Rule 4.6.
#[supervise::test]
async fn z_17_a_failed_restart_is_forgotten_after_a_successful_one(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let actor = child(&keeper, "actor", broken_at(&[2], probe.handle())).await;
    fail(&actor, "boom");
    system.advance(secs(1)).await;
    assert_eq!(probe.all().await, ["actor starts", "actor stops", "actor starts"]);
    fail(&actor, "boom");
    assert_eq!(probe.all().await, ["actor stops", "actor starts"], "`pre_restart` runs again");
    system.expect_restarts(&actor, 2).await;
}

/// Stops one child in `pre_restart` and then fails there.
#[actor]
struct HalfHearted;

#[actor]
impl HalfHearted {
    #[handler]
    fn adopt(
        &mut self,
        name: &'static str,
        voice: ProbeHandle<String>,
        ctx: &mut Context<Self>,
    ) -> Reply<Result<PingPongRef, SpawnError>> {
        Reply(ctx.spawn(name, PingPong::factory(&voice)))
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[pre_restart]
    fn half_way(&mut self, ctx: &mut Context<Self>) {
        if let Some(first) = ctx.children().first() {
            first.stop();
        }
        panic!("half way");
    }
}

/// Rule 4.5.
#[supervise::test]
async fn z_20_a_pre_restart_that_fails_half_way_leaves_survivors(system: &TestSystem) {
    let log = Log::open();
    let voice = system.probe();
    let parent = system.spawn("parent", || HalfHearted).unwrap();
    let mut children = Vec::new();
    for name in ["1", "2", "3"] {
        children.push(parent.adopt(name, voice.handle()).await.unwrap().unwrap());
    }
    parent.fail().tell().unwrap();
    assert_eq!(voice.all().await, ["stopped", "restarted for boom", "restarted for boom"]);
    assert!(children[0].actor_ref().has_ended());
    for survivor in &children[1..] {
        assert_eq!(survivor.ping().await.unwrap(), "pong");
    }
    let hooks: Vec<_> = log.errors().into_iter().filter(|text| text.contains("half way")).collect();
    assert_eq!(hooks.len(), 1);
    let failed = system.take_all(|event| matches!(event, Event::HookFailed { hook: Hook::PreRestart, .. })).await;
    assert_eq!(failed.len(), 1);
    system.expect_restarts(&parent, 1).await;
}

/// Rules 2.3, 7.10.
#[supervise::test]
async fn z_35_two_siblings_that_fail_at_once_make_one_round(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::all_for_one());
    let mut children = Vec::new();
    for name in ["a", "b", "c"] {
        children.push(child(&keeper, name, PingPong::factory(&probe.handle())).await);
    }
    children[0].die("first").tell().unwrap();
    children[1].die("second").tell().unwrap();
    system.settle().await;
    for child in &children {
        system.expect_restarts(child, 1).await;
        assert_eq!(suspensions(child), 0);
        assert_eq!(child.ping().await.unwrap(), "pong");
    }
}

/// Works for as long as it is told to, then fails or not.
#[actor]
struct Worker;

#[actor]
impl Worker {
    #[handler]
    async fn work(&mut self, time: Duration, outcome: Result<(), Boom>) -> Result<(), Boom> {
        tokio::time::sleep(time).await;
        outcome
    }

    #[handler]
    fn ping(&self) -> &'static str {
        "pong"
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("sibling"))
    }
}

/// Rules 2.3, 2.4.
#[supervise::test]
async fn z_44_a_handler_that_fails_while_its_actor_is_being_restarted(system: &TestSystem) {
    let keeper = keeper(system, Strategy::all_for_one());
    let worker = child(&keeper, "worker", || Worker).await;
    let sibling = child(&keeper, "sibling", || Worker).await;
    for (seconds, outcome) in [(2, Err(Boom("late"))), (2, Ok(())), (60, Err(Boom("too late")))] {
        let work = worker.work(secs(seconds), outcome).ask().unwrap();
        system.settle().await;
        sibling.fail().tell().unwrap();
        let answer = work.await;
        let as_expected = match (&answer, outcome) {
            // Dropped at its await point after the stop timeout.
            (Err(AskError::Interrupted), _) => seconds == 60,
            (Err(AskError::Failed(failure)), Err(error)) => seconds == 2 && failure.downcast_ref() == Some(&error),
            (answer, outcome) => answer.is_ok() && outcome.is_ok(),
        };
        assert!(as_expected, "{seconds} s, {outcome:?}: {answer:?}");
        for actor in [&worker, &sibling] {
            let pong = actor.ping().timeout(secs(1)).await;
            assert_eq!(pong.unwrap(), "pong", "{} after {seconds} s, {outcome:?}", actor.actor_ref());
        }
        system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    }
}

/// Holds a token for as long as it lives.
#[actor]
struct Small {
    _token: Arc<()>,
}

#[actor]
impl Small {}

/// Rules 4.3, 5.4.
#[supervise::test]
async fn z_47_a_parent_of_ten_thousand_restarts_and_its_names_are_free(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || Witness::new("parent", &handle)).unwrap();
    let token = Arc::new(());
    for _ in 0..2 {
        let shared = Arc::clone(&token);
        within(&parent, move |ctx| {
            for n in 0..10_000 {
                let token = Arc::clone(&shared);
                ctx.spawn(format!("child-{n}"), move || Small { _token: Arc::clone(&token) })
                    .expect("the name is free");
            }
        })
        .await;
        system.settle().await;
        assert_eq!(Arc::strong_count(&token), 20_001, "each child's factory and instance");
        fail(&parent, "boom");
        assert_eq!(names_of_children(&parent).await, Vec::<String>::new());
        assert_eq!(Arc::strong_count(&token), 1);
        system.take_all(|_| true).await;
    }
}
