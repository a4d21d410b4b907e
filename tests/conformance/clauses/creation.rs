//! S18, S20, A8: creation that fails, and what it leaves behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Directive, Event, FailureKind, Outcome, Props, Stage, Strategy};

use crate::fixture::{
    Boom, PingPong, Witness, always_restart, as_in_akka, child, keeper_deciding, keeper_under, keeping, ms, secs,
    within,
};

/// A factory that fails this many times before it succeeds, and counts its calls.
fn late<A: Actor>(
    failures: u32,
    calls: &Arc<AtomicU32>,
    mut make: impl FnMut(u32) -> A + Send + 'static,
) -> impl FnMut() -> Result<A, Boom> + Send + 'static {
    let calls = Arc::clone(calls);
    move || {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        if call < failures { Err(Boom("factory")) } else { Ok(make(call)) }
    }
}

/// Rules 5.2, 7.5.
#[supervise::test]
async fn s12_1_failed_creations_use_up_the_quota(system: &TestSystem) {
    let (probe, calls) = (system.probe(), Arc::default());
    let boss = keeper_deciding(system, Strategy::one_for_one().max_retries(3), always_restart);
    let handle = probe.handle();
    let factory = late(u32::MAX, &calls, move |_| PingPong::new(&handle));
    let (actor, asked) = within(&boss, move |ctx| {
        let actor = ctx.spawn("actor", factory).expect("the name is free");
        let asked = actor.count().ask().expect("it has not even started");
        (actor, asked)
    })
    .await;
    system.expect_terminated(&actor).await;
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    let error = asked.await.unwrap_err();
    assert!(
        matches!(&error, AskError::StoppedByFailure(failure) if failure.stage() == Stage::Initialization),
        "{error}"
    );
    system.expect_dead_letter(&actor).await;
    let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    assert!(matches!(
        decided.last(),
        Some(Event::Decided { outcome: Outcome::LimitReached { children: 1 }, failure, .. })
            if failure.stage() == Stage::Initialization
    ));
}

/// Rule 5.1.
#[supervise::test]
async fn s18_4_what_is_sent_to_an_actor_that_starts_late_waits_for_it(system: &TestSystem) {
    let (probe, calls) = (system.probe(), Arc::default());
    let boss = keeper_deciding(system, Strategy::one_for_one().max_retries(5), always_restart);
    let handle = probe.handle();
    let actor = child(&boss, "actor", late(3, &calls, move |_| PingPong::new(&handle))).await;
    let answers = [actor.count().ask().unwrap(), actor.count().ask().unwrap()];
    for (answer, expected) in answers.into_iter().zip(1..) {
        assert_eq!(answer.await.unwrap(), expected);
    }
    probe.expect_none().await;
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    let restarts = system.take_all(|event| matches!(event, Event::Restarted { .. })).await;
    assert!(restarts.is_empty(), "it started, it was not restarted: {restarts:?}");
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Rule 5.3.
#[supervise::test]
async fn a8_a_creation_without_limit_waits_longer_each_time_whatever_tries_it_again(system: &TestSystem) {
    for (name, directive) in [("restart", Directive::Restart), ("resume", Directive::Resume)] {
        let (probe, calls) = (system.probe(), Arc::default());
        let boss = keeping(Strategy::one_for_one(), move |_| directive);
        let boss = system.spawn_with(name, boss).unwrap();
        let handle = probe.handle();
        child(&boss, "actor", late(9, &calls, move |_| PingPong::new(&handle))).await;
        system.settle().await;
        for (expected, delay) in (1..).zip([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]) {
            assert_eq!(calls.load(Ordering::SeqCst), expected, "{name}");
            system.advance(ms(delay - 1)).await;
            assert_eq!(calls.load(Ordering::SeqCst), expected, "{name}, before {delay} ms");
            system.advance(ms(1)).await;
        }
        assert_eq!(calls.load(Ordering::SeqCst), 10, "{name}");
        system.advance(secs(60)).await;
        assert_eq!(calls.load(Ordering::SeqCst), 10, "{name}: it has started");
        system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    }
}

/// Rule 3.1.
#[supervise::test]
async fn a8_a_table_that_names_the_cause_decides_about_a_failed_start(system: &TestSystem) {
    let calls = Arc::new(AtomicU32::new(0));
    let (named, fallen_back) = (system.spawn("named", || Named).unwrap(), system.spawn("rest", || Rest).unwrap());
    for _ in 0..2 {
        named.adopt(Arc::clone(&calls)).await.unwrap();
        system.advance(secs(1)).await;
        named.stop_all().await.unwrap();
        system.settle().await;
    }
    assert_eq!(calls.swap(0, Ordering::SeqCst), 4, "restarted for the cause");
    fallen_back.adopt(Arc::clone(&calls)).await.unwrap();
    system.advance(secs(60)).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1, "stopped by `on(_)`");
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Fails at every other start, beginning with the first.
#[actor]
struct Fragile {
    calls: Arc<AtomicU32>,
}

#[actor]
impl Fragile {
    #[pre_start]
    fn start(&mut self) -> Result<(), Boom> {
        if self.calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) { Err(Boom("start")) } else { Ok(()) }
    }
}

#[actor]
#[supervise(on(Boom) = Restart)]
struct Named;

#[actor]
impl Named {
    #[handler]
    fn adopt(&mut self, calls: Arc<AtomicU32>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("child", move || Fragile { calls: Arc::clone(&calls) }).map(drop)
    }

    #[handler]
    fn stop_all(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_children();
    }
}

#[actor]
#[supervise(on(std::io::Error) = Restart, on(_) = Stop)]
struct Rest;

#[actor]
impl Rest {
    #[handler]
    fn adopt(&mut self, calls: Arc<AtomicU32>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("child", move || Fragile { calls: Arc::clone(&calls) }).map(drop)
    }
}

/// Rules 5.1, 11.1.
#[supervise::test]
async fn s18_2_a_factory_that_panics_is_a_failure_of_the_child(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let handle = probe.handle();
    let mut calls = 0;
    let actor = child(&boss, "actor", move || {
        calls += 1;
        assert!(calls > 1, "not yet");
        PingPong::new(&handle)
    })
    .await;
    system.expect_terminated(&actor).await;
    let decision = system.expect_decision(&actor).await;
    assert_eq!((decision.failure.kind(), decision.failure.stage()), (FailureKind::Panic, Stage::Initialization));
    probe.expect_none().await;
    assert!(!boss.actor_ref().has_ended());
}

/// Does everything that can outlive a failed `pre_start`, and fails there until its third life.
#[actor]
struct Untidy {
    life: u32,
    subject: crate::fixture::WitnessRef,
    probe: ProbeHandle<String>,
}

#[actor]
impl Untidy {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), Boom> {
        let me = ctx.me();
        ctx.watch(&self.subject);
        if self.life < 2 {
            ctx.start_timer("timer", secs(5), me.tick("timer"));
            ctx.set_receive_timeout(secs(5), move || me.tick("timeout").into_message());
            let voice = self.probe.clone();
            ctx.spawn("child", move || Witness::new("child", &voice)).expect("the last one is gone");
            return Err(Boom("not yet"));
        }
        self.probe.note(format!("{} children", ctx.children().len()));
        Ok(())
    }

    #[handler]
    fn tick(&mut self, what: &'static str) {
        self.probe.note(what.to_owned());
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Witness>) {
        self.probe.note("gone".to_owned());
    }

    #[post_stop]
    fn stopped(&mut self) {
        self.probe.note("stopped".to_owned());
    }
}

/// Rule 5.2.
#[supervise::test]
async fn s18_3_a_failed_start_leaves_neither_children_nor_timers_behind(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let handle = voice.handle();
    let subject = system.spawn("subject", move || Witness::new("subject", &handle)).unwrap();
    let boss = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let (handle, watched) = (probe.handle(), subject.clone());
    let mut lives = 0..;
    let actor = child(&boss, "actor", move || {
        let life = lives.next().expect("endless");
        Untidy { life, subject: watched.clone(), probe: handle.clone() }
    })
    .await;
    system.advance(secs(20)).await;
    assert_eq!(probe.all().await, ["child starts", "child stops", "child starts", "child stops", "0 children"]);
    subject.actor_ref().stop();
    assert_eq!(probe.all().await, ["gone"], "watched three times, told once");
    system.stop(&actor);
    assert_eq!(probe.all().await, ["stopped"]);
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Watches with a message at each start.
#[actor]
struct Follower {
    life: u32,
    subject: crate::fixture::WitnessRef,
    probe: ProbeHandle<u32>,
}

#[actor]
impl Follower {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), Boom> {
        let me = ctx.me();
        ctx.watch_with(&self.subject, me.hear(self.life)).map_err(|_| Boom("watched already"))?;
        if self.life == 0 { Err(Boom("not yet")) } else { Ok(()) }
    }

    #[handler]
    fn hear(&mut self, life: u32) {
        self.probe.note(life);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// The watch belongs to the actor, but the message belongs to its instance: the next instance may choose its
/// own. Rules 8.4, 8.7.
#[supervise::test]
async fn s16_7_s16_9_a_new_instance_may_watch_with_a_message_of_its_own(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let handle = voice.handle();
    let subject = system.spawn("subject", move || Witness::new("subject", &handle)).unwrap();
    let boss = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let (handle, watched) = (probe.handle(), subject.clone());
    let mut lives = 0..;
    let follower = child(&boss, "follower", move || {
        let life = lives.next().expect("endless");
        Follower { life, subject: watched.clone(), probe: handle.clone() }
    })
    .await;
    system.advance(secs(1)).await;
    follower.fail().tell().unwrap();
    system.settle().await;
    subject.actor_ref().stop();
    assert_eq!(probe.all().await, [2]);
    let stages: Vec<_> = system
        .take_all(|event| matches!(event, Event::Decided { .. }))
        .await
        .iter()
        .filter_map(|event| match event {
            Event::Decided { failure, .. } => Some(failure.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(stages, ["not yet", "boom"]);
}

/// Rule 16.1.
#[supervise::test]
async fn s20_1_a_made_up_name_cannot_be_chosen(system: &TestSystem) {
    let probe = system.probe();
    for name in ["$a", "$", "", "a/b", "a b", "ä", "a%2", "#"] {
        let refused = system.spawn(name, PingPong::factory(&probe.handle()));
        assert!(matches!(refused, Err(SpawnError::InvalidName { .. })), "{name:?}: {refused:?}");
    }
    for name in ["a-b_c.d*e+f:g@h&i=j,k!l~m'n;o", "a$", "%20"] {
        system.spawn(name, PingPong::factory(&probe.handle())).unwrap();
    }
    let anonymous = system.spawn_anonymous(PingPong::factory(&probe.handle())).unwrap();
    assert!(anonymous.actor_ref().path().name().starts_with('$'));
}

/// Rule 5.4.
#[supervise::test]
async fn s20_2_a_refused_creation_reserves_nothing(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let first = child(&boss, "name", PingPong::factory(&probe.handle())).await;
    let handle = probe.handle();
    let refused = within(&boss, move |ctx| ctx.spawn("name", PingPong::factory(&handle)).map(drop)).await;
    assert!(matches!(refused, Err(SpawnError::NameTaken { .. })));
    first.actor_ref().stop();
    system.expect_terminated(&first).await;
    child(&boss, "name", PingPong::factory(&probe.handle())).await;
}

/// Rule 5.2.
#[supervise::test]
async fn s18_5_an_actor_that_could_not_start_is_gone_for_its_watchers(system: &TestSystem) {
    let (probe, calls) = (system.probe(), Arc::default());
    let top = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let boss = keeper_under(&top, "boss", keeping(Strategy::one_for_one(), as_in_akka)).await;
    let handle = probe.handle();
    let watcher = system.spawn("watcher", move || Witness::new("watcher", &handle)).unwrap();
    probe.expect("watcher starts".to_owned()).await;
    let handle = probe.handle();
    let props = Props::new(late(u32::MAX, &calls, move |_| Witness::new("actor", &handle)));
    let actor = within(&boss, move |ctx| ctx.spawn_with("actor", props).expect("the name is free")).await;
    let watched = actor.clone();
    within(&watcher, move |ctx| ctx.watch(&watched)).await;
    assert_eq!(probe.all().await, ["watcher sees actor gone"]);
    assert_eq!(system.expect_decision(&actor).await.outcome, Outcome::Stopped { children: 1 });
}
