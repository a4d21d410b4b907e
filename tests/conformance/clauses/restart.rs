//! S1, S6 to S8, A4: what a restart keeps, its order, and failures during it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem, suspensions};
use supervise::{Directive, Event, FailureKind, Hook, Outcome, Props, Stage, Strategy};

use super::{Worker, WorkerRef, failing, well};
use crate::fixture::{
    Boom, Keeper, PingPong, PingPongRef, Witness, always_escalate, always_restart, as_in_akka, child, fail,
    keeper, keeper_deciding, keeper_under, keeping, kept, ms, names_of_children, secs, within,
};

/// Rule 4.1.
#[supervise::test]
async fn s1_2_a_restart_keeps_the_ref_its_incarnation_and_the_mailbox(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    let before = (actor.actor_ref().to_string(), actor.actor_ref().path());
    actor.die("boom").tell().unwrap();
    let waiting = actor.count().ask().unwrap();
    system.expect_restarts(&actor, 1).await;
    assert_eq!((actor.actor_ref().to_string(), actor.actor_ref().path()), before);
    assert_eq!(waiting.await.unwrap(), 1);
    assert_eq!(system.find(&before.1).unwrap(), actor.actor_ref().to_any());
}

/// Rule 3.4.
#[supervise::test]
async fn s6_2_a_resume_undoes_an_escalation_through_three_levels(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Resume);
    let upper = keeper_under(&top, "upper", keeping(Strategy::all_for_one(), always_escalate)).await;
    let lower = keeper_under(&upper, "lower", keeping(Strategy::rest_for_one(), always_escalate)).await;
    let culprit = child(&lower, "culprit", PingPong::factory(&probe.handle())).await;
    let sibling = child(&lower, "sibling", PingPong::factory(&probe.handle())).await;
    let cousin = child(&upper, "cousin", PingPong::factory(&probe.handle())).await;
    for _ in 0..2 {
        culprit.die("boom").tell().unwrap();
        system.settle().await;
        let (keepers, others) = ([&upper, &lower], [&culprit, &sibling, &cousin]);
        assert!(keepers.iter().all(|actor| suspensions(*actor) == 0));
        assert!(others.iter().all(|actor| suspensions(*actor) == 0));
    }
    for actor in [&culprit, &sibling, &cousin] {
        assert_eq!(actor.count().await.unwrap(), 1);
    }
    probe.expect_none().await;
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// The resume of an ancestor does not answer an actor's own failure. Rule 2.4.
#[supervise::test]
async fn s6_4_a_resume_from_above_does_not_answer_an_own_failure(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Resume);
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let middle = keeping(Strategy::one_for_one(), move |_: &Failure| {
        counted.fetch_add(1, Ordering::SeqCst);
        Directive::Restart
    });
    let middle = keeper_under(&top, "middle", middle).await;
    let leaf = child(&middle, "leaf", PingPong::factory(&probe.handle())).await;
    // The leaf fails while its supervisor has failed and is not answered yet.
    leaf.die("leaf").tell().unwrap();
    fail(&middle, "middle");
    assert_eq!(leaf.count().await.unwrap(), 1);
    assert_eq!(probe.all().await, ["restarted for leaf"]);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert_eq!((suspensions(&middle), suspensions(&leaf)), (0, 0));
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Rule 4.6.
#[supervise::test]
async fn s6_6_a_resume_after_a_failed_restart_is_a_restart(system: &TestSystem) {
    let probe = system.probe();
    let decide = |failure: &Failure| match failure.stage() {
        Stage::Running => Directive::Restart,
        _ => Directive::Resume,
    };
    let boss = keeper_deciding(system, Strategy::one_for_one(), decide);
    let handle = probe.handle();
    let mut calls = 0;
    let actor = child(&boss, "actor", move || {
        calls += 1;
        if calls == 2 { Err(Boom("factory")) } else { Ok(PingPong::new(&handle)) }
    })
    .await;
    actor.die("boom").tell().unwrap();
    assert_eq!(actor.count().await.unwrap(), 1);
    assert_eq!(probe.all().await, ["restarted for factory"], "for the failure that came last");
    system.expect_restarts(&actor, 1).await;
}

/// Rule 4.2.
#[supervise::test]
async fn s7_4_a_restart_waits_for_a_child_that_was_being_stopped_already(system: &TestSystem) {
    let probe = system.probe();
    let parent = kept(Keeper::reporting("parent", &probe.handle()), Strategy::one_for_one(), always_restart);
    let parent = system.spawn_with("parent", parent).unwrap();
    let handle = probe.handle();
    let slow = child(&parent, "slow", move || Witness::slow("slow", secs(2), &handle)).await;
    within(&parent, move |ctx| ctx.stop(&slow)).await;
    fail(&parent, "boom");
    let next = within(&parent, |ctx| ctx.children().len());
    let (children, ()) = tokio::join!(next, system.advance(secs(2)));
    assert_eq!(children, 0);
    assert_eq!(probe.all().await, ["slow starts", "parent is replaced for boom", "slow stops", "parent is back"]);
    system.expect_restarts(&parent, 1).await;
}

/// Takes some time in `pre_restart`.
#[actor]
struct Sluggish {
    probe: ProbeHandle<String>,
}

#[actor]
impl Sluggish {
    #[handler]
    fn ping(&self) -> &'static str {
        "pong"
    }

    #[pre_restart]
    async fn linger(&mut self) {
        tokio::time::sleep(secs(3)).await;
        self.probe.note("survivor is replaced".to_owned());
    }
}

/// Rule 4.2.
#[supervise::test]
async fn s7_8_the_surviving_children_restart_and_are_not_awaited(system: &TestSystem) {
    let probe = system.probe();
    let parent = system.spawn("parent", Worker::factory("parent", &probe.handle())).unwrap();
    let handle = probe.handle();
    let survivor = child(&parent, "survivor", move || Sluggish { probe: handle.clone() }).await;
    parent.work(secs(0), failing("boom")).tell().unwrap();
    assert_eq!(parent.ping().await.unwrap(), "pong");
    let pong = survivor.ping().ask().unwrap();
    system.advance(secs(3)).await;
    assert_eq!(pong.await.unwrap(), "pong");
    let heard = ["parent works", "parent is done", "parent is replaced", "parent is back", "parent answers"];
    assert_eq!(probe.all().await, [&heard[..], &["survivor is replaced"]].concat());
    system.expect_restarts(&survivor, 1).await;
    system.expect_restarts(&parent, 1).await;
}

/// Keeps its children, and spawns one more at each restart.
#[actor]
struct Growing {
    voice: ProbeHandle<String>,
}

#[actor]
impl Growing {
    #[pre_start]
    fn grow(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let name = format!("child-{}", ctx.children().len());
        ctx.spawn(name, PingPong::factory(&self.voice)).map(drop)
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[handler]
    fn children(&self, ctx: &mut Context<Self>) -> Vec<Option<PingPongRef>> {
        ctx.children().iter().map(|child| child.downcast::<PingPong>().map(PingPongRef::from)).collect()
    }

    #[pre_restart]
    fn keep(&mut self) {}
}

/// Rule 4.3.
#[supervise::test]
async fn s7_8_children_of_the_new_instance_are_not_restarted(system: &TestSystem) {
    let voice = system.probe();
    let handle = voice.handle();
    let growing = system.spawn("growing", move || Growing { voice: handle.clone() }).unwrap();
    for _ in 0..2 {
        growing.fail().tell().unwrap();
    }
    let children: Vec<_> = growing.children().await.unwrap().into_iter().flatten().collect();
    assert_eq!(children.len(), 3);
    for (child, restarts) in children.iter().zip([2, 1, 0]) {
        assert_eq!(child.ping().await.unwrap(), "pong");
        system.expect_restarts(child, restarts).await;
    }
    system.expect_restarts(&growing, 2).await;
}

/// Rule 4.2.
#[supervise::test]
async fn s7_9_what_pre_restart_sends_itself_comes_after_what_waits(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let actor = system.spawn("actor", move || Retrying { probe: handle.clone() }).unwrap();
    actor.note(1, true).tell().unwrap();
    actor.note(2, false).tell().unwrap();
    assert_eq!(probe.all().await, [2, 1]);
    system.expect_restarts(&actor, 1).await;
}

/// Sends itself its work again when it is restarted.
#[actor]
struct Retrying {
    probe: ProbeHandle<u32>,
}

#[actor]
impl Retrying {
    #[handler]
    fn note(&mut self, number: u32, fails: bool) -> Result<(), Boom> {
        if fails {
            return Err(Boom("boom"));
        }
        self.probe.note(number);
        Ok(())
    }

    #[pre_restart]
    fn again(&mut self, ctx: &mut Context<Self>) {
        ctx.me().note(1, false).tell().expect("it is being restarted");
    }
}

/// Rule 7.1.
#[supervise::test]
async fn s7_12_a_group_restart_lets_a_child_that_is_stopping_end(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let boss = keeper(system, Strategy::all_for_one());
    let culprit = child(&boss, "culprit", PingPong::factory(&probe.handle())).await;
    let handle = voice.handle();
    let ending = child(&boss, "ending", move || Witness::slow("ending", secs(4), &handle)).await;
    ending.actor_ref().stop();
    system.advance(secs(1)).await;
    culprit.die("boom").tell().unwrap();
    assert_eq!(culprit.count().await.unwrap(), 1);
    system.expect_terminated(&ending).await;
    assert_eq!(voice.all().await, ["ending starts", "ending stops"], "once, and it does not come back");
    assert_eq!(names_of_children(&boss).await, ["culprit"]);
    system.expect_restarts(&culprit, 1).await;
}

/// Fails in `post_restart`, always.
#[actor]
struct Unable;

#[actor]
impl Unable {
    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("first"))
    }

    #[post_restart]
    fn refuse(&mut self, cause: &Failure) -> Result<(), Boom> {
        assert!(cause.original().to_string() == "first", "the reason is not lost");
        Err(Boom("again"))
    }
}

/// Rule 4.6.
#[supervise::test]
async fn s8_a_restart_that_fails_counts_against_the_limit(system: &TestSystem) {
    let made = Arc::new(AtomicU32::new(0));
    let boss = keeper_deciding(system, Strategy::one_for_one().max_retries(3), always_restart);
    let counted = Arc::clone(&made);
    let actor = child(&boss, "actor", move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Unable
    })
    .await;
    actor.fail().tell().unwrap();
    system.expect_terminated(&actor).await;
    assert_eq!(made.load(Ordering::SeqCst), 4);
    let path = actor.actor_ref().path();
    let decided = system.take_all(|event| matches!(event, Event::Decided { child, .. } if *child == path)).await;
    let outcomes: Vec<_> = decided
        .iter()
        .filter_map(|event| match event {
            Event::Decided { outcome, failure, .. } => {
                Some((*outcome, failure.stage(), failure.original().to_string()))
            }
            _ => None,
        })
        .collect();
    let restarting = Outcome::Restarting { children: 1, delay: None };
    let first = "first".to_owned();
    assert_eq!(
        outcomes,
        [
            (restarting, Stage::Running, first.clone()),
            (restarting, Stage::PostRestart, first.clone()),
            (restarting, Stage::PostRestart, first.clone()),
            (Outcome::LimitReached { children: 1 }, Stage::PostRestart, first),
        ]
    );
}

/// Akka does this by default.
/// Rule 4.6.
#[supervise::test]
async fn s8_a_restart_that_fails_can_stop_the_actor(system: &TestSystem) {
    let actor = child(&keeper_deciding(system, Strategy::one_for_one(), as_in_akka), "actor", || Unable).await;
    actor.fail().tell().unwrap();
    let waiting = actor.fail().ask().unwrap();
    let error = waiting.await.unwrap_err();
    assert!(
        matches!(&error, AskError::StoppedByFailure(failure) if failure.stage() == Stage::PostRestart),
        "{error}"
    );
    let outcomes = [system.expect_decision(&actor).await.outcome, system.expect_decision(&actor).await.outcome];
    assert_eq!(outcomes, [Outcome::Restarting { children: 1, delay: None }, Outcome::Stopped { children: 1 }]);
    system.expect_dead_letter(&actor).await;
}

/// Rules 3.3, 4.6.
#[supervise::test]
async fn s8_by_default_a_restart_that_fails_is_tried_again(system: &TestSystem) {
    system.allow_failures();
    let actor = child(&keeper(system, Strategy::one_for_one()), "actor", || Unable).await;
    actor.fail().tell().unwrap();
    let waiting = actor.fail().ask().unwrap();
    let later = |millis| Outcome::Restarting { children: 1, delay: Some(Duration::from_millis(millis)) };
    assert_eq!(system.expect_decision(&actor).await.outcome, Outcome::Restarting { children: 1, delay: None });
    for millis in [100, 200, 400] {
        assert_eq!(system.expect_decision(&actor).await.outcome, later(millis));
        system.advance(Duration::from_millis(millis)).await;
    }
    actor.actor_ref().stop();
    assert!(matches!(waiting.await, Err(AskError::Stopped)), "the stop ended it, and not the failure");
    system.expect_dead_letter(&actor).await;
}

/// Rules 4.5, 11.1.
#[supervise::test]
async fn s8_a_hook_that_panics_is_a_hook_that_fails(system: &TestSystem) {
    let boss = keeper_deciding(system, Strategy::one_for_one().max_retries(1), always_restart);
    let mut life = 0;
    let actor = child(&boss, "actor", move || {
        life += 1;
        Panicky { life }
    })
    .await;
    actor.fail().tell().unwrap();
    system.expect_terminated(&actor).await;
    let hooks = system.take_all(|event| matches!(event, Event::HookFailed { .. })).await;
    assert!(
        matches!(&hooks[..], [Event::HookFailed { hook: Hook::PreRestart, failure, .. }]
            if failure.kind() == FailureKind::Panic),
        "{hooks:?}"
    );
    assert_eq!(system.expect_decision(&actor).await.failure.kind(), FailureKind::Error);
    let last = system.expect_decision(&actor).await;
    assert_eq!((last.failure.kind(), last.failure.stage()), (FailureKind::Panic, Stage::PostRestart));
}

/// Panics in the hooks of a restart.
#[actor]
struct Panicky {
    life: u32,
}

#[actor]
impl Panicky {
    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[pre_restart]
    fn replaced(&mut self) {
        panic!("replaced");
    }

    #[post_restart]
    fn back(&mut self) {
        assert_eq!(self.life, 1, "not the first");
    }
}

/// Holds a value until it is dropped.
#[actor]
struct Holder {
    _port: Arc<()>,
    probe: ProbeHandle<String>,
}

#[actor]
impl Holder {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let probe = self.probe.clone();
        ctx.spawn("slow", move || Witness::slow("slow", secs(4), &probe)).map(drop)
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 4.2.
#[supervise::test]
async fn a4_the_old_instance_is_gone_before_its_children_are_awaited(system: &TestSystem) {
    let probe = system.probe();
    let port = Arc::new(());
    let (handle, shared) = (probe.handle(), Arc::downgrade(&port));
    let first = Arc::new(std::sync::Mutex::new(Some(port)));
    let holder = system
        .spawn("holder", move || {
            let port = first.lock().unwrap().take().unwrap_or_default();
            Holder { _port: port, probe: handle.clone() }
        })
        .unwrap();
    system.settle().await;
    assert_eq!(shared.strong_count(), 1);
    holder.fail().tell().unwrap();
    system.advance(secs(1)).await;
    assert_eq!(shared.strong_count(), 0, "although its child is still ending");
    assert_eq!(probe.all().await, ["slow starts"]);
    system.advance(secs(3)).await;
    assert_eq!(probe.all().await, ["slow stops", "slow starts"]);
    system.expect_restarts(&holder, 1).await;
}

/// A parked `pre_restart`: its restart answers that of the parent too, and nobody stays suspended.
/// Rule 7.10.
#[supervise::test]
async fn s7_14_a_restart_from_above_during_an_own_restart_is_answered_by_it(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper(system, Strategy::one_for_one());
    let middle = keeper_under(&top, "middle", keeping(Strategy::one_for_one(), always_restart)).await;
    let handle = probe.handle();
    let leaf = child(&middle, "leaf", move || Sluggish { probe: handle.clone() }).await;
    leaf.actor_ref().kill();
    system.settle().await;
    fail(&middle, "boom");
    let pong = leaf.ping().ask().unwrap();
    system.advance(secs(10)).await;
    assert_eq!(pong.await.unwrap(), "pong");
    assert_eq!(probe.all().await, ["survivor is replaced"]);
    assert_eq!((suspensions(&middle), suspensions(&leaf)), (0, 0));
    system.expect_restarts(&leaf, 1).await;
    system.expect_restarts(&middle, 1).await;
}

/// Rule 4.4.
#[supervise::test]
async fn s7_11_the_restart_of_a_sibling_tells_pre_restart_no_message(system: &TestSystem) {
    let told = system.probe();
    let boss = keeper(system, Strategy::all_for_one());
    let mut children = Vec::new();
    for name in ["a", "b"] {
        let handle = told.handle();
        children.push(child(&boss, name, move || Told { name, told: handle.clone() }).await);
    }
    children[1].take(1, false).await.unwrap();
    children[0].take(7, true).tell().unwrap();
    let mut heard = told.all().await;
    heard.sort_unstable();
    // Delivered once more, it fails once more, before its sibling has begun to restart for the first failure.
    assert_eq!(heard, [("a", Some(7)), ("a", Some(7)), ("b", None)]);
    system.take_all(|event| matches!(event, Event::Decided { .. } | Event::DeadLetter(_))).await;
}

/// Notes the message that its `pre_restart` gets.
#[actor]
struct Told {
    name: &'static str,
    told: ProbeHandle<(&'static str, Option<u32>)>,
}

#[actor]
impl Told {
    #[handler(redeliver = 1)]
    fn take(&mut self, number: u32, fails: bool) -> Result<(), Boom> {
        let _ = number;
        if fails { Err(Boom("boom")) } else { Ok(()) }
    }

    #[pre_restart]
    fn replaced(&mut self, _: &Failure, message: Option<ToldMessage>) {
        self.told.note((self.name, message.map(|ToldMessage::Take { number, .. }| number)));
    }
}

/// Rule 4.1.
#[supervise::test]
async fn s1_2_a_sibling_that_works_is_restarted_when_it_is_done_and_keeps_its_mailbox(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, Strategy::all_for_one());
    let busy: WorkerRef = child(&boss, "busy", Worker::factory("busy", &probe.handle())).await;
    let voice = system.probe();
    let culprit = child(&boss, "culprit", PingPong::factory(&voice.handle())).await;
    let work = busy.work(secs(2), well()).ask().unwrap();
    let pong = busy.ping().ask().unwrap();
    system.settle().await;
    culprit.die("boom").tell().unwrap();
    assert_eq!(culprit.count().timeout(ms(1)).await.unwrap(), 1, "it waits for nobody");
    work.await.unwrap();
    assert_eq!(pong.await.unwrap(), "pong");
    assert_eq!(
        probe.all().await,
        ["busy works", "busy is done", "busy is replaced", "busy is back", "busy answers"]
    );
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// A restart is not a start: the table may tell the two apart by the kind of failure that a rule names.
/// Rule 3.1.
#[supervise::test]
async fn s8_a_rule_for_initialization_comes_before_the_rule_for_its_cause(system: &TestSystem) {
    let boss = system.spawn_with("boss", Props::new(|| Cautious)).unwrap();
    let restarted = boss.adopt().await.unwrap();
    restarted.fail().tell().unwrap();
    system.expect_terminated(&restarted).await;
    let decisions = [system.expect_decision(&restarted).await, system.expect_decision(&restarted).await];
    assert_eq!(decisions.map(|decision| decision.directive), [Directive::Restart, Directive::Stop]);
}

#[actor]
#[supervise(on(InitializationFailed) = Stop, on(Boom) = Restart)]
struct Cautious;

#[actor]
impl Cautious {
    #[handler]
    fn adopt(&mut self, ctx: &mut Context<Self>) -> Result<UnableRef, SpawnError> {
        ctx.spawn("child", || Unable)
    }
}
