//! Z: cases that no suite has, from reading how the references work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{
    Backoff, DeadLetterReason, Directive, Event, FailureKind, Hook, HowEnded, Outcome, Props, Stage, Strategy,
};

use crate::fixture::{
    Boom, Keeper, PingPong, PingPongRef, Witness, WitnessRef, always_escalate, always_restart, child, fail,
    how_ended, keeper, keeper_deciding, keeper_under, keeping, kept, ms, names_of_children, secs, within,
};
use crate::log::Log;

/// Lets an actor fail and gives what came of it.
async fn failing(system: &TestSystem, actor: &PingPongRef) -> Outcome {
    actor.die("boom").tell().expect("it lives");
    system.expect_decision(actor).await.outcome
}

fn restarting(children: usize) -> Outcome {
    Outcome::Restarting { children, delay: None }
}

/// Rule 7.2.
#[supervise::test]
async fn z_01_an_all_for_one_limit_counts_every_child(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::all_for_one().max_retries(3));
    let mut children = Vec::new();
    for name in ["a", "b", "c"] {
        children.push(child(&keeper, name, PingPong::factory(&probe.handle())).await);
    }
    for culprit in [0, 0, 1] {
        assert_eq!(failing(system, &children[culprit]).await, restarting(3));
    }
    assert_eq!(failing(system, &children[2]).await, Outcome::LimitReached { children: 3 });
    assert!(children.iter().all(|child| child.actor_ref().has_ended()));
}

/// Rule 7.2.
#[supervise::test]
async fn z_02_a_newcomer_shares_the_fate_of_its_worn_out_siblings(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::all_for_one().max_retries(3));
    let old = child(&keeper, "old", PingPong::factory(&probe.handle())).await;
    for _ in 0..3 {
        assert_eq!(failing(system, &old).await, restarting(1));
    }
    let new = child(&keeper, "new", PingPong::factory(&probe.handle())).await;
    assert_eq!(failing(system, &new).await, Outcome::LimitReached { children: 2 });
    assert!(old.actor_ref().has_ended() && new.actor_ref().has_ended());
}

/// Rule 7.3.
#[supervise::test]
async fn z_04_a_window_opens_at_a_failure_and_includes_its_end(system: &TestSystem) {
    for (name, retries, times, last_restarts) in [
        ("reopened", 2, &[0, 900, 1050, 1100][..], true),
        ("within", 2, &[0, 400, 900], false),
        ("at-the-end", 1, &[0, 1000], false),
        ("past-the-end", 1, &[0, 1001], true),
    ] {
        let probe = system.probe();
        let strategy = Strategy::one_for_one().max_retries(retries).within(ms(1000));
        let keeper = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
        let mut before = 0;
        for (at, time) in times.iter().enumerate() {
            system.advance(ms(time - before)).await;
            before = *time;
            let restarts = failing(system, &actor).await == restarting(1);
            assert_eq!(restarts, at + 1 < times.len() || last_restarts, "{name} at {time} ms");
        }
    }
}

/// Rule 7.7.
#[supervise::test]
async fn z_05_statistics_survive_the_parent_s_restart_with_the_child(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one().max_retries(2));
    let actor = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    assert_eq!(failing(system, &actor).await, restarting(1));
    fail(&keeper, "own");
    system.expect_restarts(&keeper, 1).await;
    assert_eq!(failing(system, &actor).await, restarting(1));
    assert_eq!(failing(system, &actor).await, Outcome::LimitReached { children: 1 });
    let again = child(&keeper, "child", PingPong::factory(&probe.handle())).await;
    for _ in 0..2 {
        assert_eq!(failing(system, &again).await, restarting(1), "a new incarnation starts at zero");
    }
    assert_eq!(failing(system, &again).await, Outcome::LimitReached { children: 1 });
}

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

/// Fails a second after it was told to.
#[actor]
struct SlowToFail {
    probe: ProbeHandle<String>,
}

#[actor]
impl SlowToFail {
    #[handler]
    async fn fail(&mut self) -> Result<(), Boom> {
        tokio::time::sleep(secs(1)).await;
        Err(Boom("late"))
    }

    #[handler]
    fn ping(&self) -> &'static str {
        "pong"
    }

    #[pre_restart]
    fn replaced(&mut self) {
        self.probe.note("leaf is replaced".to_owned());
    }

    #[post_stop]
    fn stopped(&mut self) {
        self.probe.note("leaf stops".to_owned());
    }
}

/// A supervisor that failed and waits ten seconds for its restart, and its child that fails meanwhile.
async fn deferring(
    system: &TestSystem,
    probe: &ProbeHandle<String>,
    decisions: &Arc<AtomicU32>,
) -> (crate::fixture::KeeperRef, SlowToFailRef) {
    let top = keeper(system, Strategy::one_for_one().backoff(Backoff::exponential(secs(10), secs(10))));
    let asked = Arc::clone(decisions);
    let middle = kept(Keeper::reporting("middle", probe), Strategy::one_for_one(), move |_| {
        asked.fetch_add(1, Ordering::SeqCst);
        Directive::Restart
    });
    let middle = keeper_under(&top, "middle", middle).await;
    let handle = probe.clone();
    let leaf = child(&middle, "leaf", move || SlowToFail { probe: handle.clone() }).await;
    leaf.fail().tell().unwrap();
    system.settle().await;
    fail(&middle, "own");
    system.advance(secs(2)).await;
    let deferred = system.take_all(|event| matches!(event, Event::ReportDeferred { .. })).await;
    assert_eq!(deferred.len(), 1);
    assert_eq!(decisions.load(Ordering::SeqCst), 0);
    (middle, leaf)
}

/// Rule 2.5.
#[supervise::test]
async fn z_10_a_deferred_failure_is_dropped_when_the_supervisor_stops(system: &TestSystem) {
    let probe = system.probe();
    let decisions = Arc::default();
    let (middle, leaf) = deferring(system, &probe.handle(), &decisions).await;
    middle.actor_ref().stop();
    assert_eq!(probe.all().await, ["leaf stops", "middle stops"]);
    assert!(leaf.actor_ref().has_ended());
    assert_eq!(decisions.load(Ordering::SeqCst), 0);
    let dropped = system.take_all(|event| matches!(event, Event::ReportDropped { .. })).await;
    assert_eq!(dropped.len(), 1);
    system.expect_decision(&middle).await;
}

/// Rule 2.5.
#[supervise::test]
async fn z_11_a_kept_child_whose_failure_was_deferred_restarts_twice(system: &TestSystem) {
    let probe = system.probe();
    let decisions = Arc::default();
    let (middle, leaf) = deferring(system, &probe.handle(), &decisions).await;
    system.advance(secs(10)).await;
    assert_eq!(
        probe.all().await,
        ["middle is replaced for own", "middle is back", "leaf is replaced", "leaf is replaced"]
    );
    assert_eq!(decisions.load(Ordering::SeqCst), 1);
    assert_eq!(leaf.ping().await.unwrap(), "pong", "its counter is back at zero");
    assert_eq!(names_of_children(&middle).await, ["leaf"]);
    system.expect_restarts(&leaf, 2).await;
    system.expect_restarts(&middle, 1).await;
}

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

/// Rule 6.2.
#[supervise::test]
async fn z_14_the_order_of_a_stop(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || Witness::new("parent", &handle)).unwrap();
    for (name, slow) in [("a", 2), ("b", 1)] {
        let handle = probe.handle();
        child(&parent, name, move || Witness::slow(name, secs(slow), &handle)).await;
    }
    probe.all().await;
    system.stop(&parent);
    system.advance(secs(2)).await;
    assert_eq!(probe.all().await, ["b stops", "a stops", "parent stops"], "siblings stop at the same time");
}

/// A factory that fails at these calls, counted from 1.
fn broken_at(calls: &'static [u32], probe: ProbeHandle<String>) -> impl FnMut() -> Result<Witness, Boom> + Send {
    let mut call = 0;
    move || {
        call += 1;
        if calls.contains(&call) { Err(Boom("factory")) } else { Ok(Witness::new("actor", &probe)) }
    }
}

/// Rule 6.4.
#[supervise::test]
async fn z_16_an_instance_that_was_replaced_is_not_stopped_again(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("actor", broken_at(&[2], probe.handle())).unwrap();
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

/// Escalates, and notes whether its `pre_restart` is given a message.
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

/// Rule 6.5.
#[supervise::test]
async fn z_22_a_poison_pill_behind_a_failure(system: &TestSystem) {
    let probe = system.probe();
    for (name, directive) in [("restarts", Directive::Restart), ("stops", Directive::Stop)] {
        let keeper = system.spawn_with(name, keeping(Strategy::one_for_one(), move |_| directive)).unwrap();
        let actor = child(&keeper, "actor", PingPong::factory(&probe.handle())).await;
        actor.die("boom").tell().unwrap();
        actor.ping().tell().unwrap();
        actor.count().tell().unwrap();
        actor.actor_ref().poison();
        actor.ping().tell().unwrap();
        system.expect_terminated(&actor).await;
        let path = actor.actor_ref().path();
        let letters: Vec<_> = system
            .take_all(|event| matches!(event, Event::DeadLetter(letter) if letter.recipient == path))
            .await
            .iter()
            .filter_map(|event| match event {
                Event::DeadLetter(letter) => Some(letter.message),
                _ => None,
            })
            .collect();
        if directive == Directive::Restart {
            assert_eq!(probe.all().await, ["restarted for boom", "ping", "stopped"]);
            assert_eq!(letters, ["Ping"]);
        } else {
            assert_eq!(probe.all().await, ["stopped"]);
            assert_eq!(letters, ["Ping", "Count", "Ping"]);
        }
        system.expect_decision(&actor).await;
    }
}

/// An actor that waits ten seconds, suspended, for its restart.
async fn suspended(system: &TestSystem, name: &'static str, probe: &ProbeHandle<String>) -> PingPongRef {
    let strategy = Strategy::one_for_one().backoff(Backoff::exponential(secs(10), secs(10)));
    let keeper = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
    let actor = child(&keeper, "actor", PingPong::factory(probe)).await;
    actor.die("boom").tell().unwrap();
    let decided = system.expect_decision(&actor).await;
    assert_eq!(decided.outcome, Outcome::Restarting { children: 1, delay: Some(secs(10)) });
    actor
}

/// Rule 6.5.
#[supervise::test]
async fn z_23_a_suspended_actor_takes_a_stop_but_neither_poison_nor_kill(system: &TestSystem) {
    let probe = system.probe();
    let poisoned = suspended(system, "poisoned", &probe.handle()).await;
    poisoned.actor_ref().poison();
    let killed = suspended(system, "killed", &probe.handle()).await;
    killed.actor_ref().kill();
    let stopped = suspended(system, "stopped", &probe.handle()).await;
    stopped.actor_ref().stop();
    assert_eq!(probe.all().await, ["stopped"], "at once");
    assert!(stopped.actor_ref().has_ended());
    system.advance(ms(9_999)).await;
    probe.expect_none().await;
    system.advance(ms(1)).await;
    assert_eq!(probe.all().await, ["restarted for boom", "stopped", "restarted for boom"]);
    assert!(poisoned.actor_ref().has_ended());
    assert_eq!(system.expect_decision(&killed).await.failure.kind(), FailureKind::Killed);
}

/// Rule 8.4.
#[supervise::test]
async fn z_25_a_watch_survives_the_watcher_s_restart(system: &TestSystem) {
    let probe = system.probe();
    let (handle, other) = (probe.handle(), probe.handle());
    let watcher = system.spawn("watcher", move || Witness::new("watcher", &handle)).unwrap();
    let subject = system.spawn("subject", move || Witness::new("subject", &other)).unwrap();
    let watched = subject.clone();
    within(&watcher, move |ctx| ctx.watch(&watched)).await;
    fail(&watcher, "boom");
    system.expect_restarts(&watcher, 1).await;
    probe.all().await;
    subject.actor_ref().stop();
    assert_eq!(probe.all().await, ["subject stops", "watcher sees subject gone"]);
}

/// Sends its watcher a thousand messages and ends.
#[actor]
struct Talker;

#[actor]
impl Talker {
    #[handler]
    fn talk(&mut self, to: ListenerRef, ctx: &mut Context<Self>) {
        for n in 1..=1000 {
            to.hear(n).tell().expect("it listens");
        }
        ctx.stop_self();
    }
}

#[actor]
struct Listener {
    heard: u32,
    probe: ProbeHandle<u32>,
}

#[actor]
impl Listener {
    #[handler]
    fn listen(&mut self, talker: TalkerRef, ctx: &mut Context<Self>) {
        ctx.watch(&talker);
    }

    #[handler]
    fn hear(&mut self, n: u32) {
        assert_eq!(n, self.heard + 1);
        self.heard = n;
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Talker>) {
        self.probe.note(self.heard);
    }
}

/// Rule 8.2.
#[supervise::test]
async fn z_26_terminated_comes_after_all_that_the_subject_sent(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let listener = system.spawn("listener", move || Listener { heard: 0, probe: handle.clone() }).unwrap();
    let talker = system.spawn("talker", || Talker).unwrap();
    listener.listen(talker.clone()).await.unwrap();
    talker.talk(listener).tell().unwrap();
    probe.expect(1000).await;
}

/// Rule 8.5.
#[supervise::test]
async fn z_28_a_watcher_that_ends_is_told_nothing_any_more(system: &TestSystem) {
    let probe = system.probe();
    let witness = |name| {
        let handle = probe.handle();
        move || Witness::slow(name, secs(1), &handle)
    };
    let watcher = system.spawn("watcher", witness("watcher")).unwrap();
    let other = system.spawn("other", witness("other")).unwrap();
    let watched: WitnessRef = other.clone();
    let own = child(&watcher, "own", witness("own")).await;
    within(&watcher, move |ctx| {
        ctx.watch(&watched);
        ctx.watch(&own);
    })
    .await;
    probe.all().await;
    watcher.actor_ref().stop();
    other.actor_ref().stop();
    system.advance(secs(2)).await;
    let mut heard = probe.all().await;
    heard.sort();
    assert_eq!(heard, ["other stops", "own stops", "watcher stops"]);
    assert!(system.take_all(|event| matches!(event, Event::DeadLetter(_))).await.is_empty());
}

/// Watches in both ways, and says what came.
#[actor]
struct Indecisive {
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Indecisive {
    #[handler]
    fn watch(&mut self, subject: WitnessRef, ctx: &mut Context<Self>) {
        ctx.watch(&subject);
    }

    #[handler]
    fn watch_with(&mut self, subject: WitnessRef, text: &'static str, ctx: &mut Context<Self>) -> bool {
        let me = ctx.me();
        ctx.watch_with(&subject, me.hear(text)).is_ok()
    }

    #[handler]
    fn unwatch(&mut self, subject: WitnessRef, ctx: &mut Context<Self>) {
        ctx.unwatch(&subject);
    }

    #[handler]
    fn hear(&mut self, text: &'static str) {
        self.probe.note(text);
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Witness>) {
        self.probe.note("terminated");
    }
}

/// Rule 8.7.
#[supervise::test]
async fn z_29_the_first_watch_stays_until_it_is_taken_back(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let handle = probe.handle();
    let indecisive = system.spawn("indecisive", move || Indecisive { probe: handle.clone() }).unwrap();
    for name in ["messages", "mixed", "anew"] {
        let handle = voice.handle();
        let subject = system.spawn(name, move || Witness::new(name, &handle)).unwrap();
        let expected = match name {
            "messages" => {
                assert!(indecisive.watch_with(subject.clone(), "one").await.unwrap());
                assert!(!indecisive.watch_with(subject.clone(), "two").await.unwrap());
                "one"
            }
            "mixed" => {
                indecisive.watch(subject.clone()).await.unwrap();
                assert!(!indecisive.watch_with(subject.clone(), "two").await.unwrap());
                "terminated"
            }
            _ => {
                indecisive.watch(subject.clone()).await.unwrap();
                indecisive.unwatch(subject.clone()).await.unwrap();
                assert!(indecisive.watch_with(subject.clone(), "two").await.unwrap());
                "two"
            }
        };
        subject.actor_ref().stop();
        assert_eq!(probe.all().await, [expected], "{name}");
    }
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

/// Rule 5.2.
#[supervise::test]
async fn z_32_a_top_level_actor_that_cannot_start_harms_nobody(system: &TestSystem) {
    let log = Log::open();
    let probe = system.probe();
    let actor = system.spawn("actor", broken_at(&[1], probe.handle())).unwrap();
    system.expect_terminated(&actor).await;
    assert_eq!(log.errors().len(), 1);
    assert_eq!(how_ended(system, &actor).await, HowEnded::Graceful);
    assert_eq!(probe.all().await, Vec::<String>::new(), "there was no instance to stop");
    system.expect_decision(&actor).await;
    system.spawn("actor", broken_at(&[], probe.handle())).unwrap();
    probe.expect("actor starts".to_owned()).await;
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

/// Rules 2.3, 7.1.
#[supervise::test]
async fn z_35_two_siblings_that_fail_at_once_make_two_rounds(system: &TestSystem) {
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
        system.expect_restarts(child, 2).await;
        assert_eq!(child.ping().await.unwrap(), "pong");
    }
}

/// Fails as soon as it runs.
#[actor]
struct Hopeless;

#[actor]
impl Hopeless {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        ctx.me().fail().tell().expect("it runs");
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 7.9.
#[supervise::test]
async fn z_40_a_linear_backoff_starts_anew_past_its_window(system: &TestSystem) {
    for (name, window, expected) in
        [("two", secs(2), vec![1, 2, 1, 2, 1]), ("ten", secs(10), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2])]
    {
        let strategy = Strategy::one_for_one().backoff(Backoff::linear(window, secs(1)));
        let keeper = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let actor = child(&keeper, "hopeless", || Hopeless).await;
        for seconds in expected {
            let decided = system.expect_decision(&actor).await;
            let delay = Some(secs(seconds));
            assert_eq!(decided.outcome, Outcome::Restarting { children: 1, delay }, "{name}");
            system.advance(secs(seconds)).await;
        }
        keeper.actor_ref().stop();
        system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    }
}

/// Rule 7.8.
#[supervise::test]
async fn z_41_messages_wait_out_a_backoff_and_a_stop_ends_it(system: &TestSystem) {
    let probe = system.probe();
    let waiting = suspended(system, "waiting", &probe.handle()).await;
    let stopped = suspended(system, "stopped", &probe.handle()).await;
    waiting.ping().tell().unwrap();
    let count = waiting.count().ask().unwrap();
    system.advance(secs(5)).await;
    probe.expect_none().await;
    stopped.actor_ref().stop();
    probe.expect("stopped".to_owned()).await;
    system.advance(secs(5)).await;
    assert_eq!(probe.all().await, ["restarted for boom", "ping"]);
    assert_eq!(count.await.unwrap(), 1, "of the new instance");
    assert!(system.take_all(|event| matches!(event, Event::DeadLetter(_))).await.is_empty());
    let restarts = system.take_all(|event| matches!(event, Event::Restarted { .. })).await;
    assert_eq!(restarts.len(), 1);
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
            (Err(AskError::Stopped), _) => seconds == 60,
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
        matches!(&errors[..], [error] if error.contains("child=supervise://test/user/keeper/middle ")),
        "{errors:?}"
    );
    system.expect_restarts(&direct, 1).await;
    system.expect_restarts(&below, 1).await;
    system.expect_restarts(&middle, 1).await;
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

/// Rule 5.2.
#[supervise::test]
async fn z_50_a_resume_from_above_does_not_create_what_failed_to_start(system: &TestSystem) {
    let calls = Arc::new(AtomicU32::new(0));
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Resume);
    let middle = keeper_under(&top, "middle", keeping(Strategy::one_for_one(), |_| Directive::Stop)).await;
    let counted = Arc::clone(&calls);
    crate::fixture::Stage::give(
        &middle,
        Box::new(move |ctx| {
            let props: Props<PingPong, _> = Props::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                Err::<PingPong, _>(Boom("cannot be made"))
            });
            ctx.spawn_with("child", props).expect("the name is free");
            Err(Boom("own"))
        }),
    );
    let deferred = system.take_all(|event| matches!(event, Event::ReportDeferred { .. })).await;
    assert_eq!(deferred.len(), 1, "the child's failure found its supervisor suspended");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    let outcomes: Vec<_> = decided
        .iter()
        .filter_map(|event| match event {
            Event::Decided { outcome, .. } => Some(*outcome),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [Outcome::Resumed, Outcome::Stopped { children: 1 }]);
    assert_eq!(names_of_children(&middle).await, Vec::<String>::new());
}

/// Fails all the time.
#[actor]
struct Storm {
    stops: Arc<AtomicU32>,
}

#[actor]
impl Storm {
    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[pre_restart]
    fn replaced(&mut self) {}

    #[post_stop]
    fn stopped(&mut self) {
        self.stops.fetch_add(1, Ordering::SeqCst);
    }
}

#[actor]
struct Mourner {
    news: tokio::sync::mpsc::UnboundedSender<()>,
}

#[actor]
impl Mourner {
    #[handler]
    fn watch(&mut self, storm: StormRef, ctx: &mut Context<Self>) {
        ctx.watch(&storm);
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Storm>) {
        self.news.send(()).expect("the test listens");
    }
}

/// Rules 6.4, 8.1.
#[test]
fn z_48_a_storm_of_stops_is_one_stop() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for _ in 0..50 {
        let system = runtime.block_on(async { ActorSystem::new("storm") });
        let stops = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&stops);
        let storm = system.spawn("storm", move || Storm { stops: Arc::clone(&counted) }).unwrap();
        let (news, mut told) = tokio::sync::mpsc::unbounded_channel();
        let mourners: Vec<_> = (0..3)
            .map(|_| {
                let news = news.clone();
                system.spawn_anonymous(move || Mourner { news: news.clone() }).unwrap()
            })
            .collect();
        runtime.block_on(async {
            for mourner in &mourners {
                mourner.watch(storm.clone()).await.unwrap();
            }
        });
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        // From some moment on it has stopped.
                        let _stopped = storm.fail().tell();
                    }
                    system.stop(&storm);
                });
            }
        });
        runtime.block_on(async {
            for _ in &mourners {
                told.recv().await.unwrap();
            }
            system.terminate().await;
        });
        assert_eq!(stops.load(Ordering::SeqCst), 1);
        assert!(told.try_recv().is_err(), "each watcher was told once");
    }
}

/// A dead letter says why; what waits in a mailbox that closes is one, in order.
/// Rule 6.5.
#[supervise::test]
async fn z_22_what_waits_behind_a_stop_is_dead_letters_in_order(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let actor = child(&keeper, "actor", PingPong::factory(&probe.handle())).await;
    actor.actor_ref().stop();
    let asked = actor.count().ask().unwrap();
    actor.ping().tell().unwrap();
    system.expect_terminated(&actor).await;
    assert!(matches!(asked.await, Err(AskError::Stopped)));
    for message in ["Count", "Ping"] {
        let letter = system.expect_dead_letter(&actor).await;
        assert_eq!((letter.message, letter.reason), (message, DeadLetterReason::Stopped));
    }
}
