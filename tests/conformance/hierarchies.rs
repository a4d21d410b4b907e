//! HIE: failures that move through several levels.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Directive, Event, Outcome, Props, Stage, Strategy};

use crate::fixture::{
    Boom, Keeper, PingPong, Witness, always_escalate, always_restart, child, fail, keeper_deciding, keeper_under,
    keeping, kept, ms, names_of_children, secs, within,
};
use crate::log::Log;

/// The results of a hook that fails in several ways.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Rules 3.6, 7.1.
#[supervise::test]
async fn hie_01_an_escalating_manager_is_restarted_with_all_its_workers(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let manager = kept(Keeper::reporting("manager", &probe.handle()), Strategy::all_for_one(), always_escalate);
    let manager = keeper_under(&boss, "manager", manager).await;
    let mut workers = Vec::new();
    for name in ["1", "2", "3"] {
        workers.push(child(&manager, name, PingPong::factory(&probe.handle())).await);
    }
    workers[1].actor_ref().kill();
    let mut back = probe.all().await;
    assert_eq!(back[..2], ["manager is replaced for killed", "manager is back"]);
    assert_eq!(back.split_off(2), vec!["restarted for killed"; 3]);
    system.expect_escalated(&workers[1]).await;
    system.expect_restarts(&manager, 1).await;
    for worker in &workers {
        system.expect_restarts(worker, 1).await;
        assert_eq!(worker.ping().await.unwrap(), "pong");
    }
}

/// Rule 3.4.
#[supervise::test]
async fn hie_02_resuming_the_middle_resumes_its_children(system: &TestSystem) {
    let log = Log::open();
    let probe = system.probe();
    let resume = |_: &Failure| Directive::Resume;
    let resumer = keeper_deciding(system, Strategy::one_for_one(), resume);
    let middle = keeper_under(&resumer, "middle", keeping(Strategy::one_for_one(), resume)).await;
    let worker = child(&middle, "worker", PingPong::factory(&probe.handle())).await;
    assert_eq!(worker.count().await.unwrap(), 1);
    fail(&middle, "boom");
    assert_eq!(system.expect_decision(&middle).await.outcome, Outcome::Resumed);
    assert_eq!(log.warnings().len(), 1);
    assert_eq!(log.errors().len(), 0);
    assert_eq!(within(&middle, |_| "pong").await, "pong");
    assert_eq!(worker.count().await.unwrap(), 2, "the same instance");
}

/// Cannot start before its sixth attempt. Some attempts leave a child behind.
#[actor]
struct Stubborn {
    attempt: u32,
    hooks: ProbeHandle<&'static str>,
}

#[actor]
impl Stubborn {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), BoxError> {
        if matches!(self.attempt, 3 | 6) {
            ctx.spawn("grandchild", || Idle)?;
        }
        if self.attempt < 6 {
            return Err(Boom("not yet").into());
        }
        self.hooks.note("pre_start");
        Ok(())
    }

    #[post_restart]
    fn restarted(&mut self) {
        self.hooks.note("post_restart");
    }

    #[handler]
    fn echo(&self, text: &'static str) -> &'static str {
        text
    }
}

#[actor]
struct Idle;

#[actor]
impl Idle {}

/// Rule 5.2.
#[supervise::test]
async fn hie_04_a_creation_that_fails_is_tried_again_by_restart_and_by_resume(system: &TestSystem) {
    let log = Log::open();
    let hooks = system.probe();
    let attempts = Arc::new(AtomicU32::new(0));
    let decisions = AtomicU32::new(0);
    let keeper = keeper_deciding(system, Strategy::one_for_one(), move |failure| {
        assert_eq!(failure.stage(), Stage::Initialization);
        if decisions.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            Directive::Resume
        } else {
            Directive::Restart
        }
    });
    let stubborn = child(&keeper, "stubborn", {
        let (attempts, hooks) = (Arc::clone(&attempts), hooks.handle());
        move || Stubborn { attempt: attempts.fetch_add(1, Ordering::SeqCst) + 1, hooks: hooks.clone() }
    })
    .await;
    assert_eq!(stubborn.echo("hello").await.unwrap(), "hello");
    assert_eq!(attempts.load(Ordering::SeqCst), 6);
    assert_eq!(hooks.all().await, ["pre_start"]);
    let errors = log.errors();
    assert!(
        matches!(&errors[..], [one, two] if [one, two].iter().all(|text| text.contains("it restarts in"))),
        "{errors:?}"
    );
    let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    assert_eq!(decided.len(), 5);
}

/// Rules 4.2, 8.4.
#[supervise::test]
async fn hie_07_a_restart_waits_for_the_children_and_keeps_other_watches(system: &TestSystem) {
    let probe = system.probe();
    let witness = |name, slow| {
        let handle = probe.handle();
        move || Witness::slow(name, slow, &handle)
    };
    let third = system.spawn("third", witness("third", ms(0))).unwrap();
    let parent = system.spawn("parent", witness("parent", ms(0))).unwrap();
    child(&parent, "a", witness("a", secs(2))).await;
    child(&parent, "b", witness("b", secs(3))).await;
    let watched = third.clone();
    within(&parent, move |ctx| ctx.watch(&watched)).await;
    probe.all().await;

    fail(&parent, "boom");
    let query = tokio::spawn({
        let parent = parent.clone();
        async move { names_of_children(&parent).await }
    });
    assert_eq!(probe.all().await, ["parent stops"], "the old instance is done with at once");
    third.actor_ref().stop();
    assert_eq!(probe.all().await, ["third stops"]);
    system.advance(ms(2999)).await;
    assert_eq!(probe.all().await, ["a stops"]);
    assert!(!query.is_finished());
    system.advance(ms(1)).await;
    assert_eq!(probe.all().await, ["b stops", "parent starts", "parent sees third gone"]);
    assert_eq!(query.await.unwrap(), Vec::<String>::new());
    system.expect_restarts(&parent, 1).await;
}

/// Watches with messages of its own.
#[actor]
struct Namer {
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Namer {
    #[handler]
    fn watch(&mut self, other: crate::fixture::WitnessRef, text: &'static str, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.watch_with(&other, me.hear(text)).expect("watched once");
    }

    #[handler]
    fn watched_child(&mut self, voice: ProbeHandle<String>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let child = ctx.spawn("child", move || Witness::new("child", &voice))?;
        self.watch(child, "child gone", ctx);
        Ok(())
    }

    #[handler]
    fn hear(&mut self, text: &'static str) {
        self.probe.note(text);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 8.4.
#[supervise::test]
async fn hie_08_a_restart_forgets_the_messages_for_children_and_keeps_the_others(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let handle = voice.handle();
    let other = system.spawn("other", move || Witness::new("other", &handle)).unwrap();
    let handle = probe.handle();
    let namer = system.spawn("namer", move || Namer { probe: handle.clone() }).unwrap();
    namer.watched_child(voice.handle()).await.unwrap();
    namer.watch(other.clone(), "other gone").await.unwrap();
    namer.fail().tell().unwrap();
    system.settle().await;
    other.actor_ref().stop();
    assert_eq!(probe.all().await, ["other gone"]);
    assert_eq!(voice.all().await, ["other starts", "child starts", "child stops", "other stops"]);
    system.expect_restarts(&namer, 1).await;
}

/// Starts two slow children, or only the first of them in its last life. Then it fails as often as it is told
/// to.
#[actor]
struct Breeder {
    fails: bool,
    probe: ProbeHandle<String>,
}

#[actor]
impl Breeder {
    #[pre_start]
    fn breed(&mut self, ctx: &mut Context<Self>) -> Result<(), BoxError> {
        self.probe.note("setup".to_owned());
        let names: &[&'static str] = if self.fails { &["child1", "child2"] } else { &["child1"] };
        for name in names {
            let probe = self.probe.clone();
            ctx.spawn(name, move || Witness::slow(name, secs(1), &probe))?;
        }
        if self.fails { Err(Boom("setup").into()) } else { Ok(()) }
    }

    #[pre_restart]
    fn replaced(&mut self, ctx: &mut Context<Self>) {
        self.probe.note("replaced".to_owned());
        ctx.stop_children();
    }

    #[handler]
    fn children(&self, ctx: &mut Context<Self>) -> Vec<String> {
        ctx.children().iter().map(|child| child.name().to_owned()).collect()
    }

    #[handler]
    fn breed_another(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let probe = self.probe.clone();
        ctx.spawn("another", move || Witness::new("another", &probe)).map(drop)
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// A breeder whose setup fails in the lives for which `fails` says so.
fn breeder(probe: ProbeHandle<String>, fails: &'static [bool]) -> Props<Breeder> {
    let mut life = 0;
    Props::new(move || {
        life += 1;
        Breeder { fails: fails.get(life - 1).copied().unwrap_or(false), probe: probe.clone() }
    })
}

/// Rule 5.2.
#[supervise::test]
async fn hie_10_children_of_a_failed_setup_are_gone_before_the_next(system: &TestSystem) {
    for (name, fails) in [("first setup", &[true, false][..]), ("later setup", &[false, true, false])] {
        let probe = system.probe();
        let keeper = system
            .spawn_with(name.replace(' ', "-"), keeping(Strategy::one_for_one().max_retries(10), always_restart))
            .unwrap();
        let props = breeder(probe.handle(), fails);
        let breeder = within(&keeper, move |ctx| ctx.spawn_with("breeder", props).unwrap()).await;
        if !fails[0] {
            breeder.fail().tell().unwrap();
            for heard in ["setup", "child1 starts", "replaced", "child1 stops"] {
                probe.expect(heard.to_owned()).await;
            }
        }
        probe.expect("setup".to_owned()).await;
        let mut children = Vec::new();
        loop {
            match probe.next().await {
                heard if heard == "setup" => break,
                heard => children.push(heard),
            }
        }
        children.sort();
        let stops = |heard: &&String| heard.ends_with("stops");
        assert_eq!(children.iter().filter(stops).collect::<Vec<_>>().len(), 2, "{name}: {children:?}");
        assert_eq!(breeder.children().await.unwrap(), ["child1"], "{name}");
        system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    }
}

/// Rule 4.6.
#[supervise::test]
async fn hie_11_a_failure_among_the_messages_that_waited_for_the_first_restart(system: &TestSystem) {
    let probe = system.probe();
    let breeder = system.spawn_with("breeder", breeder(probe.handle(), &[])).unwrap();
    breeder.fail().tell().unwrap();
    breeder.breed_another().tell().unwrap();
    breeder.fail().tell().unwrap();
    assert_eq!(breeder.children().await.unwrap(), ["child1"]);
    // It does not matter when a child starts, but it must have stopped before the next setup.
    let heard: Vec<_> = probe.all().await.into_iter().filter(|heard| !heard.ends_with("starts")).collect();
    let expected =
        ["setup", "replaced", "child1 stops", "setup", "replaced", "another stops", "child1 stops", "setup"];
    assert_eq!(heard, expected);
    system.expect_restarts(&breeder, 2).await;
}
