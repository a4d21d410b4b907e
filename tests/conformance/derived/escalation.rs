//! Z: failures that go up.

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Directive, Event, FailureKind, Outcome, Strategy};

use super::{failing, restarting};
use crate::fixture::{
    Boom, Keeper, PingPong, PingPongRef, always_escalate, always_restart, child, keeper_deciding, keeper_under,
    keeping, kept, names_of_children,
};
use crate::log::Log;

/// Rule 3.6.
#[supervise::test]
async fn z_07_an_escalated_failure_is_charged_to_the_supervisor(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one().max_retries(1), always_restart);
    let middle =
        keeper_under(&top, "middle", keeping(Strategy::one_for_one().max_retries(9), always_escalate)).await;
    let first = child(&middle, "first", PingPong::factory(&probe.handle())).await;
    let second = child(&middle, "second", PingPong::factory(&probe.handle())).await;
    assert_eq!(failing(system, &first).await, Outcome::Escalated);
    assert_eq!(system.expect_decision(&middle).await.outcome, restarting(1));
    assert_eq!(failing(system, &second).await, Outcome::Escalated);
    assert_eq!(system.expect_decision(&middle).await.outcome, Outcome::LimitReached { children: 1 });
    assert!(middle.actor_ref().has_ended());
}

/// Rule 3.4.
#[supervise::test]
async fn z_08_a_resume_from_above_undoes_an_escalation(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Resume);
    let middle = kept(Keeper::reporting("middle", &probe.handle()), Strategy::one_for_one(), always_escalate);
    let middle = keeper_under(&top, "middle", middle).await;
    let culprit = child(&middle, "culprit", PingPong::factory(&probe.handle())).await;
    let sibling = child(&middle, "sibling", PingPong::factory(&probe.handle())).await;
    for actor in [&culprit, &sibling] {
        assert_eq!(actor.count().await.unwrap(), 1);
    }
    assert_eq!(failing(system, &culprit).await, Outcome::Escalated);
    assert_eq!(system.expect_decision(&middle).await.outcome, Outcome::Resumed);
    assert_eq!(names_of_children(&middle).await, ["culprit", "sibling"]);
    for actor in [&culprit, &sibling] {
        assert_eq!(actor.count().await.unwrap(), 2);
    }
    probe.expect_none().await;
}

/// Escalates, and notes whether its `pre_restart` gets a message.
#[actor]
#[supervise(on(_) = Escalate)]
struct Innocent {
    probe: ProbeHandle<bool>,
}

#[actor]
impl Innocent {
    #[handler(redeliver = 1)]
    fn child(&mut self, ctx: &mut Context<Self>) -> Option<PingPongRef> {
        ctx.child("child")?.downcast::<PingPong>().map(PingPongRef::from)
    }

    #[handler]
    fn adopt(&mut self, voice: ProbeHandle<String>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("child", PingPong::factory(&voice)).map(drop)
    }

    #[pre_restart]
    fn replaced(&mut self, _: &Failure, message: Option<InnocentMessage>) {
        self.probe.note(message.is_some());
    }
}

/// Rule 4.4.
#[supervise::test]
async fn z_19_a_supervisor_that_escalated_has_no_failing_message(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let handle = probe.handle();
    let innocent = system.spawn("innocent", move || Innocent { probe: handle.clone() }).unwrap();
    innocent.adopt(voice.handle()).await.unwrap();
    let child = innocent.child().await.unwrap().unwrap();
    child.die("boom").tell().unwrap();
    assert_eq!(probe.all().await, [false]);
    system.expect_restarts(&innocent, 1).await;
    system.expect_restarts(&child, 1).await;
}

/// Says nothing about panics.
#[actor]
#[supervise(on(Boom) = Restart)]
struct Reticent;

#[actor]
impl Reticent {
    #[handler]
    fn child(&mut self, voice: ProbeHandle<String>, ctx: &mut Context<Self>) -> Reply<Option<PingPongRef>> {
        Reply(ctx.spawn("child", PingPong::factory(&voice)).ok())
    }
}

/// Rules 3.2, 3.6.
#[supervise::test]
async fn z_31_what_a_table_does_not_name_escalates_unchanged(system: &TestSystem) {
    let voice = system.probe();
    let seen = system.probe();
    let handle = seen.handle();
    let top = keeper_deciding(system, Strategy::one_for_one(), move |failure| {
        handle.note((failure.kind(), failure.to_string()));
        Directive::Stop
    });
    let reticent = child(&top, "reticent", || Reticent).await;
    let child = reticent.child(voice.handle()).await.unwrap().unwrap();
    child.panic("aargh").tell().unwrap();
    seen.expect((FailureKind::Panic, "panicked: aargh".to_owned())).await;
    let cause = system.expect_escalated(&child).await;
    assert!(system.expect_decision(&reticent).await.failure.is_same(&cause));
}

/// Rule 9.3.
#[supervise::test]
async fn z_34_a_failure_of_the_root_is_how_the_system_ends(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    system.find("/").unwrap().kill();
    let failure = system.when_terminated().await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Killed);
    assert!(actor.actor_ref().has_ended());
    assert_eq!(probe.all().await, ["stopped"]);
    assert!(system.when_terminated().await.unwrap_err().is_same(&failure), "however often one asks");
}

/// Rule 10.2.
#[supervise::test]
async fn z_46_a_restart_is_said_once_and_an_escalation_one_level_up(system: &TestSystem) {
    let log = Log::open();
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let middle = keeper_under(&top, "middle", keeping(Strategy::one_for_one(), always_escalate)).await;
    let direct = child(&top, "direct", PingPong::factory(&probe.handle())).await;
    let below = child(&middle, "below", PingPong::factory(&probe.handle())).await;
    system.settle().await;
    let before = log.all().len();
    direct.die("boom").tell().unwrap();
    system.settle().await;
    let said = log.all().split_off(before);
    let levels: Vec<_> = said.iter().map(|record| record.level).collect();
    assert_eq!(levels, [tracing::Level::ERROR, tracing::Level::DEBUG], "{said:?}");
    assert!(said[0].text.contains("/user/keeper/direct") && said[0].text.contains("boom"), "{said:?}");

    below.die("deep").tell().unwrap();
    system.settle().await;
    let errors: Vec<_> = log.errors().split_off(1);
    assert!(
        matches!(&errors[..], [error] if error.contains("actor=supervise://test/user/keeper/middle ")),
        "{errors:?}"
    );
    system.expect_restarts(&direct, 1).await;
    system.expect_restarts(&below, 1).await;
    system.expect_restarts(&middle, 1).await;
}

/// Asks its child, fails with the child's failure, and escalates the child's failure too.
#[actor]
#[supervise(on(_) = Escalate)]
struct Relay {
    probe: ProbeHandle<String>,
    child: Option<PingPongRef>,
}

#[actor]
impl Relay {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.child = Some(ctx.spawn("child", PingPong::factory(&self.probe))?);
        Ok(())
    }

    #[handler]
    async fn relay(&mut self, why: &'static str) -> Result<(), AskError> {
        self.child.as_ref().expect("it was spawned").die(why).await
    }
}

/// Rules 3.6 and 7.10.
#[supervise::test]
async fn z_07_an_ask_whose_failure_is_passed_on_is_charged_once_with_the_escalation(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one().max_retries(1), always_restart);
    let handle = probe.handle();
    let relay = child(&top, "relay", move || Relay { probe: handle.clone(), child: None }).await;
    assert!(matches!(relay.relay("boom").await, Err(AskError::Failed(_))));
    assert_eq!(system.expect_decision(&relay).await.outcome, restarting(1));
    assert_eq!(
        system.expect_decision(&relay).await.outcome,
        Outcome::AlreadyAnswered,
        "the limit counts one failure"
    );
    system.expect_restarts(&relay, 1).await;
    assert!(!relay.actor_ref().has_ended());
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}
