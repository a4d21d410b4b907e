//! SUP: what a supervisor does about a failed child.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{ChildInfo, Directive, Event, Hook, HowEnded, Outcome, Props, Stage, Strategy};
use tokio::sync::watch;

use crate::fixture::{
    Boom, Keeper, PingPong, PingPongRef, always_escalate, always_restart, child, fail, how_ended, keeper,
    keeper_deciding, keeper_under, keeping, kept, secs, within,
};

/// A supervisor with children "1", "2", ….
async fn family<const N: usize>(
    system: &TestSystem,
    strategy: Strategy,
    probe: &TestProbe<String>,
) -> [PingPongRef; N] {
    let keeper = keeper(system, strategy);
    let mut children = Vec::new();
    for name in ["1", "2", "3"].into_iter().take(N) {
        children.push(child(&keeper, name, PingPong::factory(&probe.handle())).await);
    }
    children.try_into().unwrap_or_else(|_| unreachable!("as many as were asked for"))
}

async fn all_answer(children: &[PingPongRef], probe: &TestProbe<String>) {
    for child in children {
        assert_eq!(child.ping().await.unwrap(), "pong");
        probe.expect("ping".to_owned()).await;
    }
}

fn limited(strategy: Strategy) -> Strategy {
    strategy.max_retries(3).within(secs(5))
}

/// Rule 7.5.
#[supervise::test]
async fn sup_01_zero_retries_make_a_temporary_actor(system: &TestSystem) {
    let probe = system.probe();
    let [child] = family(system, Strategy::all_for_one().max_retries(0), &probe).await;
    assert!(
        matches!(child.die("boom").await, Err(AskError::Failed(failure)) if failure.downcast_ref() == Some(&Boom("boom")))
    );
    system.advance(secs(1)).await;
    probe.expect("stopped".to_owned()).await;
    probe.expect_none().await;
    assert_eq!(system.expect_decision(&child).await.outcome, Outcome::LimitReached { children: 1 });
}

/// Rule 3.6.
#[supervise::test]
async fn sup_02_a_hierarchy_of_supervisors_starts(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::all_for_one().max_retries(3), always_restart);
    let first = child(&top, "p1", PingPong::factory(&probe.handle())).await;
    let middle = keeper_under(&top, "middle", keeping(Strategy::all_for_one(), always_escalate)).await;
    for name in ["p2", "p3"] {
        child(&middle, name, PingPong::factory(&probe.handle())).await;
    }
    assert_eq!(first.ping().await.unwrap(), "pong");
    assert_eq!(probe.all().await, ["ping"]);
}

async fn call_kill_call(system: &TestSystem, strategy: Strategy) {
    let probe = system.probe();
    let [child] = family(system, limited(strategy), &probe).await;
    all_answer(std::slice::from_ref(&child), &probe).await;
    assert!(matches!(child.die("boom").await, Err(AskError::Failed(_))));
    probe.expect("restarted for boom".to_owned()).await;
    all_answer(std::slice::from_ref(&child), &probe).await;
    probe.expect_none().await;
    system.expect_restarts(&child, 1).await;
}

/// Rule 4.1.
#[supervise::test]
async fn sup_04_a_single_child_answers_before_and_after_its_restart_one_for_one(system: &TestSystem) {
    call_kill_call(system, Strategy::one_for_one()).await;
}

/// Rule 7.1.
#[supervise::test]
async fn sup_05_a_single_child_is_restarted_all_for_one(system: &TestSystem) {
    let probe = system.probe();
    let [child] = family(system, limited(Strategy::all_for_one()), &probe).await;
    assert!(child.die("boom").await.is_err());
    assert_eq!(probe.all().await, ["restarted for boom"]);
    system.expect_restarts(&child, 1).await;
}

/// Rule 7.1.
#[supervise::test]
async fn sup_06_a_single_child_answers_before_and_after_its_restart_all_for_one(system: &TestSystem) {
    call_kill_call(system, Strategy::all_for_one()).await;
}

/// Rule 7.1.
#[supervise::test]
async fn sup_08_one_of_three_is_restarted_alone_one_for_one(system: &TestSystem) {
    let probe = system.probe();
    let children: [_; 3] = family(system, limited(Strategy::one_for_one()), &probe).await;
    all_answer(&children, &probe).await;
    assert!(children[1].die("boom").await.is_err());
    assert_eq!(probe.all().await, ["restarted for boom"]);
    all_answer(&children, &probe).await;
    system.expect_restarts(&children[1], 1).await;
    for other in [&children[0], &children[2]] {
        system.expect_restarts(other, 0).await;
    }
}

/// Rule 7.1.
#[supervise::test]
async fn sup_09_all_three_are_restarted_with_the_same_cause_all_for_one(system: &TestSystem) {
    let probe = system.probe();
    let children: [_; 3] = family(system, limited(Strategy::all_for_one()), &probe).await;
    all_answer(&children, &probe).await;
    assert!(children[1].die("boom").await.is_err());
    let cause = system.expect_decision(&children[1]).await;
    assert_eq!(cause.outcome, Outcome::Restarting { children: 3, delay: None });
    assert_eq!(probe.all().await, vec!["restarted for boom".to_owned(); 3]);
    let restarts = system.take_all(|event| matches!(event, Event::Restarted { .. })).await;
    assert_eq!(restarts.len(), 3);
    for restart in &restarts {
        assert!(matches!(restart, Event::Restarted { failure, .. } if failure.is_same(&cause.failure)));
    }
    all_answer(&children, &probe).await;
}

/// Rule 2.1.
#[supervise::test]
async fn sup_11_a_told_failure_restarts_too(system: &TestSystem) {
    let probe = system.probe();
    let [child] = family(system, limited(Strategy::one_for_one()), &probe).await;
    child.die("boom").tell().unwrap();
    assert_eq!(probe.all().await, ["restarted for boom"]);
    system.expect_restarts(&child, 1).await;
}

/// Rules 1.2, 2.2.
#[supervise::test]
async fn sup_12_the_mailbox_survives_in_order_without_the_failing_message(system: &TestSystem) {
    let probe = system.probe();
    let [child] = family(system, limited(Strategy::one_for_one()), &probe).await;
    child.ping().tell().unwrap();
    child.die("boom").tell().unwrap();
    child.ping().tell().unwrap();
    assert_eq!(probe.all().await, ["ping", "restarted for boom", "ping"]);
    system.expect_restarts(&child, 1).await;
}

/// Fails in `pre_restart` when it is the first of three instances.
#[actor]
struct Reluctant {
    call: u32,
}

#[actor]
impl Reluctant {
    #[handler]
    fn ping(&mut self) -> u32 {
        self.call
    }

    #[handler]
    fn die(&mut self) -> Result<(), Boom> {
        Err(Boom("original"))
    }

    #[pre_restart]
    fn refuse(&mut self) -> Result<(), Boom> {
        if self.call.is_multiple_of(3) { Err(Boom("pre-restart")) } else { Ok(()) }
    }
}

/// Rules 4.5, 4.6.
#[supervise::test]
async fn sup_14_a_restart_is_attempted_again_when_it_fails(system: &TestSystem) {
    let calls = Arc::new(AtomicU32::new(0));
    let strategy = Strategy::one_for_one().max_retries(3).within(secs(10));
    let keeper = keeper_deciding(system, strategy, always_restart);
    let child = child(&keeper, "child", {
        let calls = Arc::clone(&calls);
        move || match calls.fetch_add(1, Ordering::SeqCst) {
            call if call % 3 == 1 => Err(Boom("post-restart")),
            call => Ok(Reluctant { call }),
        }
    })
    .await;
    assert!(matches!(child.die().await, Err(AskError::Failed(failure)) if failure.to_string() == "original"));
    assert_eq!(child.ping().await.unwrap(), 2);
    assert_eq!(calls.load(Ordering::SeqCst), 3);

    let original = system.expect_decision(&child).await;
    assert_eq!((original.failure.to_string(), original.failure.stage()), ("original".into(), Stage::Running));
    let second = system.expect_decision(&child).await;
    assert_eq!((second.failure.to_string(), second.failure.stage()), ("post-restart".into(), Stage::PostRestart));
    assert!(second.failure.original().is_same(&original.failure));
    let hooks = system.take_all(|event| matches!(event, Event::HookFailed { .. })).await;
    assert!(
        matches!(&hooks[..], [Event::HookFailed { hook: Hook::PreRestart, failure, .. }]
            if failure.to_string() == "pre-restart"),
        "{hooks:?}"
    );
}

/// Rule 4.3.
#[supervise::test]
async fn sup_15_killing_the_middle_restarts_what_is_below_and_nothing_above(system: &TestSystem) {
    let probe = system.probe();
    let link = |name| {
        kept(
            Keeper::reporting(name, &probe.handle()),
            Strategy::one_for_one().max_retries(3).within(secs(1)),
            always_restart,
        )
    };
    let head = system.spawn_with("head", link("head")).unwrap();
    let middle = keeper_under(&head, "middle", link("middle")).await;
    let last = keeper_under(&middle, "last", link("last")).await;
    middle.actor_ref().kill();
    system.advance(secs(2)).await;
    assert_eq!(
        probe.all().await,
        ["middle is replaced for killed", "middle is back", "last is replaced for killed", "last is back"]
    );
    system.expect_restarts(&middle, 1).await;
    system.expect_restarts(&last, 1).await;
    system.expect_restarts(&head, 0).await;
}

/// Replaces its child "Robert" when it ends, and tries to do so once more when it ends itself.
#[actor]
struct Mourner {
    probe: ProbeHandle<PingPongRef>,
    voice: ProbeHandle<String>,
}

#[actor]
impl Mourner {
    #[pre_start]
    fn first(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.replace(ctx)
    }

    fn replace(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let robert = ctx.spawn("Robert", PingPong::factory(&self.voice))?;
        ctx.watch(&robert);
        self.probe.note(robert);
        Ok(())
    }

    #[watch]
    fn gone(&mut self, _: Terminated<PingPong>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.replace(ctx)
    }

    #[post_stop]
    fn too_late(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.replace(ctx)
    }
}

/// Rule 5.4.
#[supervise::test]
async fn sup_17_a_dead_child_is_replaced_under_its_name_but_not_while_the_parent_ends(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let mourner = system.spawn("mourner", {
        let (probe, voice) = (probe.handle(), voice.handle());
        move || Mourner { probe: probe.clone(), voice: voice.clone() }
    });
    let mourner = mourner.unwrap();
    let first = probe.next().await;
    system.stop(&first);
    let second = probe.next().await;
    assert_ne!(first, second);
    assert_eq!(first.actor_ref().path(), second.actor_ref().path());

    system.stop(&mourner);
    assert_eq!(how_ended(system, &mourner).await, HowEnded::Graceful);
    let hooks = system.take_all(|event| matches!(event, Event::HookFailed { .. })).await;
    assert!(
        matches!(&hooks[..], [Event::HookFailed { hook: Hook::PostStop, failure, .. }]
            if matches!(failure.downcast_ref(), Some(SpawnError::Stopping { .. }))),
        "{hooks:?}"
    );
    assert!(probe.now().await.is_none());
}

/// Waits for a gate, then fails.
#[actor]
struct Gated {
    gate: watch::Receiver<bool>,
}

#[actor]
impl Gated {
    #[handler]
    async fn fail_behind_the_gate(&mut self) -> Result<(), Boom> {
        self.gate.wait_for(|open| *open).await.expect("the test holds the other end");
        Err(Boom("OHNOES"))
    }

    #[handler]
    fn ping(&mut self) -> &'static str {
        "child pong"
    }
}

/// Watches its child, and on a restart stops it without unwatching it.
#[actor]
struct Careless {
    gate: watch::Receiver<bool>,
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Careless {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let gate = self.gate.clone();
        let child = ctx.spawn("child", move || Gated { gate: gate.clone() })?;
        ctx.watch(&child);
        Ok(())
    }

    #[handler]
    fn child(&mut self, ctx: &mut Context<Self>) -> Option<GatedRef> {
        ctx.child("child")?.downcast::<Gated>().map(GatedRef::from)
    }

    #[pre_restart]
    fn stop_child(&mut self, ctx: &mut Context<Self>) {
        for child in ctx.children() {
            child.stop();
        }
    }

    #[post_restart]
    fn restarted(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.probe.note("parent restarted");
        self.start(ctx)
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Gated>) {
        self.probe.note("child terminated");
    }
}

/// Rule 3.7.
#[supervise::test]
async fn sup_18_a_decider_that_fails_loses_no_system_messages(system: &TestSystem) {
    let probe = system.probe();
    let (open, gate) = watch::channel(false);
    let props = Props::new({
        let probe = probe.handle();
        move || Careless { gate: gate.clone(), probe: probe.clone() }
    })
    .supervision_unchecked(Strategy::one_for_one(), |failure: &Failure, _: &ChildInfo| {
        if failure.to_string() == "OHNOES" { Err(failure.clone()) } else { Ok(Directive::Restart) }
    });
    let parent = system.spawn_with("parent", props).unwrap();
    let child = parent.child().await.unwrap().unwrap();
    child.fail_behind_the_gate().tell().unwrap();
    child.ping().tell().unwrap();
    system.settle().await;
    open.send(true).unwrap();
    probe.expect("parent restarted").await;
    probe.expect("child terminated").await;

    let failed = system.take_all(|event| matches!(event, Event::DeciderFailed { .. })).await;
    assert_eq!(failed.len(), 1);
    assert_eq!(system.expect_decision(&parent).await.failure.to_string(), "OHNOES");
    assert!(system.expect_dead_letter(&child).await.message.ends_with("Ping"));
    let again = parent.child().await.unwrap().unwrap();
    assert_ne!(again, child);
    assert_eq!(again.ping().await.unwrap(), "child pong");
}

/// Rules 1.5, 2.2.
#[supervise::test]
async fn sup_20_messages_are_processed_after_a_failure(system: &TestSystem) {
    let probe = system.probe();
    let [child] = family(system, Strategy::one_for_one(), &probe).await;
    let mut answers = Vec::new();
    for good in [true, true, false, true, false, true] {
        answers.push(if good {
            child.ping().await.is_ok()
        } else {
            assert!(matches!(child.die("boom").await, Err(AskError::Failed(_))));
            false
        });
    }
    assert_eq!(answers, [true, true, false, true, false, true]);
    system.expect_restarts(&child, 2).await;
}

/// Rule 7.3.
#[supervise::test]
async fn sup_21_a_limit_stops_and_a_pause_resets_it(system: &TestSystem) {
    let log = crate::log::Log::open();
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one().max_retries(2).within(crate::fixture::ms(500)));
    let stopped = child(&keeper, "stopped", PingPong::factory(&probe.handle())).await;
    for _ in 0..3 {
        stopped.die("boom").tell().unwrap();
    }
    assert_eq!(probe.all().await, ["restarted for boom", "restarted for boom", "stopped"]);
    assert!(stopped.actor_ref().has_ended());
    assert_eq!(log.errors().len(), 3);
    system.expect_restarts(&stopped, 2).await;

    let paused = child(&keeper, "paused", PingPong::factory(&probe.handle())).await;
    assert_eq!(paused.count().await.unwrap(), 1);
    for _ in 0..2 {
        paused.die("boom").tell().unwrap();
    }
    system.advance(crate::fixture::ms(550)).await;
    assert_eq!(paused.count().await.unwrap(), 1);
    assert_eq!(paused.count().await.unwrap(), 2);
    paused.die("boom").tell().unwrap();
    assert_eq!(paused.count().await.unwrap(), 1, "a new instance");
    system.expect_restarts(&paused, 3).await;
}

/// Escalation reaches the next supervisor that decides, with the same cause, and its decision applies to the actors
/// below. Rule 3.6.
#[supervise::test]
async fn sup_02_an_escalated_failure_restarts_the_middle_and_keeps_its_children(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let middle = keeper_under(&top, "middle", keeping(Strategy::one_for_one(), always_escalate)).await;
    let leaf = child(&middle, "leaf", PingPong::factory(&probe.handle())).await;
    fail(&middle, "own");
    probe.expect("restarted for own".to_owned()).await;
    leaf.die("boom").tell().unwrap();
    probe.expect("restarted for boom".to_owned()).await;
    let cause = system.expect_escalated(&leaf).await;
    system.expect_decision(&middle).await;
    assert!(system.expect_decision(&middle).await.failure.is_same(&cause));
    within(&middle, |_| ()).await;
    assert_eq!(leaf.ping().await.unwrap(), "pong");
}
