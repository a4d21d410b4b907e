//! S9, S17, A2, A3, A5: how actors end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{DeadLetterReason, Event, FailureKind, HowEnded, Props, Strategy};

use super::{Worker, WorkerRef, failing, well};
use crate::fixture::{
    Boom, PingPong, Witness, always_restart, child, fail, how_ended, keeper, keeper_deciding, keeping, ms,
    names_of_children, secs,
};
use crate::log::Log;

/// Rule 6.3.
#[supervise::test]
async fn s9_5_what_waits_is_dead_letters_before_anybody_is_told(system: &TestSystem) {
    let probe = system.probe();
    let worker = system.spawn("worker", Worker::factory("worker", &probe.handle())).unwrap();
    worker.work(secs(1), well()).tell().unwrap();
    system.settle().await;
    worker.actor_ref().stop();
    let asked = worker.ping().ask().unwrap();
    system.take_all(|_| true).await;
    assert!(matches!(asked.await, Err(AskError::Stopped)));
    let order: Vec<_> = system
        .take_all(|_| true)
        .await
        .iter()
        .filter_map(|event| match event {
            Event::DeadLetter(letter) => Some(letter.message),
            Event::Stopped { .. } => Some("stopped"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["Ping", "stopped"]);
    assert_eq!(probe.all().await, ["worker works", "worker is done", "worker stops"]);
}

/// Rule 6.3.
#[supervise::test]
async fn s9_6_messages_that_come_while_the_children_end_are_dead_letters_at_the_end(system: &TestSystem) {
    let probe = system.probe();
    let parent = system.spawn("parent", Worker::factory("parent", &probe.handle())).unwrap();
    let handle = probe.handle();
    child(&parent, "slow", move || Witness::slow("slow", secs(3), &handle)).await;
    parent.actor_ref().stop();
    system.advance(secs(1)).await;
    let asked = parent.ping().ask().unwrap();
    assert!(system.take_all(|event| matches!(event, Event::DeadLetter(_))).await.is_empty(), "not yet");
    system.advance(secs(2)).await;
    assert!(matches!(asked.await, Err(AskError::Stopped)));
    assert_eq!(system.expect_dead_letter(&parent).await.reason, DeadLetterReason::Stopped);
    assert_eq!(probe.all().await, ["slow starts", "slow stops", "parent stops"]);
}

/// Rule 2.5.
#[supervise::test]
async fn s9_8_failures_of_children_are_not_decided_while_their_parent_ends(system: &TestSystem) {
    let probe = system.probe();
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let boss = keeper_deciding(system, Strategy::one_for_one(), move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        supervise::Directive::Restart
    });
    let worker: WorkerRef = child(&boss, "worker", Worker::factory("worker", &probe.handle())).await;
    let work = worker.work(secs(2), failing("late")).ask().unwrap();
    system.settle().await;
    boss.actor_ref().stop();
    assert!(matches!(work.await, Err(AskError::Failed(_))), "its asker still learns of it");
    system.expect_terminated(&boss).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert_eq!(probe.all().await, ["worker works", "worker is done", "worker stops"]);
    assert!(system.take_all(|event| matches!(event, Event::Decided { .. })).await.is_empty());
}

/// Rule 6.2.
#[supervise::test]
async fn s9_3_a_stop_reaches_every_level_at_once_and_ends_from_below(system: &TestSystem) {
    let probe = system.probe();
    let witness = |name: &'static str| {
        let handle = probe.handle();
        move || Witness::slow(name, secs(1), &handle)
    };
    let top = system.spawn("top", witness("top")).unwrap();
    let middle = child(&top, "middle", witness("middle")).await;
    for name in ["leaf-1", "leaf-2"] {
        child(&middle, name, witness(name)).await;
    }
    child(&top, "other", witness("other")).await;
    probe.all().await;
    let begun = tokio::time::Instant::now();
    top.actor_ref().stop();
    system.expect_terminated(&top).await;
    assert_eq!(begun.elapsed(), secs(3), "level by level, side by side");
    let mut heard = probe.all().await;
    assert_eq!(heard.split_off(3), ["middle stops", "top stops"]);
    heard.sort_unstable();
    assert_eq!(heard, ["leaf-1 stops", "leaf-2 stops", "other stops"]);
}

/// Rule 6.1.
#[supervise::test]
async fn a2_a_stop_waits_for_the_handler_no_longer_than_the_stop_timeout(system: &TestSystem) {
    for (name, seconds, how) in [("patient", 4, HowEnded::Graceful), ("stuck", 60, HowEnded::Aborted)] {
        let (probe, log) = (system.probe(), Log::open());
        let worker = system.spawn(name, Worker::factory("worker", &probe.handle())).unwrap();
        let work = worker.work(secs(seconds), well()).ask().unwrap();
        system.settle().await;
        let begun = tokio::time::Instant::now();
        worker.actor_ref().stop();
        assert_eq!(how_ended_in_time(system, &worker).await, how);
        assert_eq!(begun.elapsed(), secs(seconds.min(5)), "{name}");
        let aborted = system.take_all(|event| matches!(event, Event::Aborted { .. })).await;
        if how == HowEnded::Aborted {
            assert!(matches!(work.await, Err(AskError::Stopped)));
            assert_eq!(probe.all().await, ["worker works", "worker stops, aborted"]);
            assert_eq!(aborted.len(), 1);
            let line = "message=work outlived the stop timeout and was dropped at an await point actor=supervise://test/user/stuck during=\"work\" ";
            assert_eq!(log.warnings(), [line]);
        } else {
            work.await.unwrap();
            assert_eq!(probe.all().await, ["worker works", "worker is done", "worker stops"]);
            assert_eq!(aborted.len(), 0);
        }
    }
}

async fn how_ended_in_time(system: &TestSystem, worker: &WorkerRef) -> HowEnded {
    system.expect_terminated(worker).await;
    how_ended(system, worker).await
}

/// The timeout bounds each piece of user code, never the wait for children.
/// Rule 6.1.
#[supervise::test]
async fn a2_children_and_post_stop_have_timeouts_of_their_own(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let props = Props::new(move || Endless { stops: handle.clone() }).stop_timeout(secs(1));
    let parent = system.spawn_with("parent", props).unwrap();
    let handle = probe.handle();
    parent.adopt(handle).await.unwrap();
    parent.hang().tell().unwrap();
    system.settle().await;
    let begun = tokio::time::Instant::now();
    parent.actor_ref().stop();
    assert_eq!(system.expect_terminated(&parent).await, HowEnded::Aborted);
    // One second for its handler, four for the child, one for its `post_stop`.
    assert_eq!(begun.elapsed(), secs(6));
    assert_eq!(probe.all().await, ["slow starts", "slow stops", "parent begins to stop"]);
    assert_eq!(system.take_all(|event| matches!(event, Event::Aborted { .. })).await.len(), 2);
}

/// Hangs wherever it can.
#[actor]
struct Endless {
    stops: ProbeHandle<String>,
}

#[actor]
impl Endless {
    #[handler]
    fn adopt(&mut self, voice: ProbeHandle<String>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("slow", move || Witness::slow("slow", secs(4), &voice)).map(drop)
    }

    #[handler]
    async fn hang(&mut self) {
        std::future::pending::<()>().await;
    }

    #[post_stop]
    async fn stop(&mut self) {
        self.stops.note("parent begins to stop".to_owned());
        std::future::pending::<()>().await;
    }
}

/// Never completes its start.
#[actor]
struct Unborn {
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Unborn {
    #[pre_start]
    async fn start(&mut self) {
        self.probe.note("starts");
        std::future::pending::<()>().await;
    }

    #[post_stop]
    fn stop(&mut self) {
        self.probe.note("stops");
    }
}

/// Rule 6.1.
#[supervise::test]
async fn a2_a_start_that_is_aborted_leaves_no_instance_to_stop(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let unborn = system.spawn("unborn", move || Unborn { probe: handle.clone() }).unwrap();
    probe.expect("starts").await;
    unborn.actor_ref().stop();
    assert_eq!(system.expect_terminated(&unborn).await, HowEnded::Aborted);
    assert_eq!(probe.all().await, Vec::<&str>::new());
}

/// Rule 6.1.
#[supervise::test]
async fn a2_a_restart_aborts_a_handler_too_and_its_future_is_dropped(system: &TestSystem) {
    let (notes, heard) = std::sync::mpsc::channel();
    let boss = keeper(system, Strategy::all_for_one());
    let stuck = child(&boss, "stuck", move || Hooked { notes: notes.clone() }).await;
    let voice = system.probe();
    let culprit = child(&boss, "culprit", PingPong::factory(&voice.handle())).await;
    let token = Arc::new(());
    let hanging = stuck.hang(Some(Arc::clone(&token))).ask().unwrap();
    system.settle().await;
    culprit.die("boom").tell().unwrap();
    assert!(matches!(hanging.await, Err(AskError::Interrupted)));
    assert_eq!(Arc::strong_count(&token), 1);
    system.expect_restarts(&stuck, 1).await;
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["stopped"], "the default `pre_restart`");
    assert!(!stuck.actor_ref().has_ended());
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Reports whether it was aborted, in each of its hooks that ends an instance.
#[actor]
struct Told {
    notes: ProbeHandle<(&'static str, bool)>,
}

#[actor]
impl Told {
    #[handler]
    async fn hang(&mut self) {
        std::future::pending::<()>().await;
    }

    #[handler]
    async fn attend(&mut self, ctx: &mut Context<Self>) {
        ctx.stopping().await;
    }

    #[pre_restart]
    fn replaced(&mut self, ctx: &mut Context<Self>) {
        self.notes.note(("pre_restart", ctx.was_aborted()));
        self.stopped(ctx);
    }

    #[post_stop]
    fn stopped(&mut self, ctx: &mut Context<Self>) {
        self.notes.note(("post_stop", ctx.was_aborted()));
    }
}

/// Rule 6.1.
#[supervise::test]
async fn a2_the_hooks_of_a_restart_are_told_that_the_handler_was_aborted(system: &TestSystem) {
    let (told, voice) = (system.probe(), system.probe());
    let boss = keeper(system, Strategy::all_for_one());
    let handle = told.handle();
    let stuck = child(&boss, "stuck", move || Told { notes: handle.clone() }).await;
    let culprit = child(&boss, "culprit", PingPong::factory(&voice.handle())).await;
    for hangs in [true, false] {
        if hangs {
            stuck.hang().tell().unwrap();
        }
        system.settle().await;
        culprit.die("boom").tell().unwrap();
        system.expect_decision(&culprit).await;
        system.advance(secs(5)).await;
        system.expect_restarts(&stuck, 1).await;
        // The next instance has not been aborted.
        assert_eq!(told.all().await, [("pre_restart", hangs), ("post_stop", hangs)]);
    }
}

/// Rule 6.1.
#[supervise::test]
async fn a2_who_waits_for_the_stop_is_not_told_of_a_restart(system: &TestSystem) {
    let (told, voice) = (system.probe(), system.probe());
    let boss = keeper(system, Strategy::all_for_one());
    let handle = told.handle();
    let attentive = child(&boss, "attentive", move || Told { notes: handle.clone() }).await;
    let culprit = child(&boss, "culprit", PingPong::factory(&voice.handle())).await;
    attentive.attend().tell().unwrap();
    system.settle().await;
    culprit.die("boom").tell().unwrap();
    system.expect_decision(&culprit).await;
    system.advance(secs(4)).await;
    told.expect_none().await;
    system.advance(secs(1)).await;
    assert_eq!(told.all().await, [("pre_restart", true), ("post_stop", true)]);
    system.expect_restarts(&attentive, 1).await;
}

/// A value whose drop panics when it is armed.
struct Bomb(Arc<AtomicU32>);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("dropped");
        }
    }
}

/// An error whose drop panics.
#[derive(thiserror::Error)]
#[error("explosive")]
struct Explosive(Bomb);

impl std::fmt::Debug for Explosive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Explosive")
    }
}

/// Everything it touches panics when it is dropped.
#[actor]
struct Mined {
    _bomb: Bomb,
}

#[actor]
impl Mined {
    #[handler]
    fn take(&mut self, bomb: Bomb) -> u32 {
        std::mem::forget(bomb);
        1
    }

    /// Two timers, whose messages go with the instance.
    #[handler]
    fn arm(&mut self, ctx: &mut Context<Self>, bombs: [Bomb; 2]) {
        for (key, bomb) in ["left", "right"].into_iter().zip(bombs) {
            ctx.start_timer(key, secs(3600), ctx.me().take(bomb));
        }
    }

    #[handler]
    async fn hang(&mut self, bomb: Bomb) {
        let _bomb = bomb;
        std::future::pending::<()>().await;
    }

    #[handler]
    fn fail(&mut self, bomb: Bomb) -> Result<(), Explosive> {
        Err(Explosive(bomb))
    }
}

/// Rule 11.2.
#[supervise::test]
async fn a3_what_panics_when_it_is_dropped_harms_nobody(system: &TestSystem) {
    let drops = Arc::new(AtomicU32::new(0));
    let boss = keeper_deciding(system, Strategy::one_for_one(), always_restart);
    let kept = Bomb(Arc::clone(&drops));
    let shared = Arc::clone(&drops);
    let mined = child(&boss, "mined", move || {
        let _held = &kept;
        Mined { _bomb: Bomb(Arc::clone(&shared)) }
    })
    .await;
    let bomb = || Bomb(Arc::clone(&drops));
    assert_eq!(mined.take(bomb()).await.unwrap(), 1);
    // The error, with the last event that holds it, and the instance.
    mined.fail(bomb()).tell().unwrap();
    assert_eq!(mined.take(bomb()).await.unwrap(), 1);
    // The future of an aborted handler, the messages behind it and of timers, the instance, the factory.
    mined.arm([bomb(), bomb()]).await.unwrap();
    mined.hang(bomb()).tell().unwrap();
    mined.take(bomb()).tell().unwrap();
    system.settle().await;
    mined.actor_ref().stop();
    assert_eq!(system.expect_terminated(&mined).await, HowEnded::Aborted);
    assert_eq!(system.expect_dead_letter(&mined).await.message, "Take");
    assert_eq!(drops.load(Ordering::SeqCst), 7, "two instances, a future, a message, two timers, the factory");
    assert_eq!(names_of_children(&boss).await, Vec::<String>::new());
    // The events of the failure hold its error, and the test must drop them.
    let held = system.take_all(|event| matches!(event, Event::Decided { .. } | Event::Restarted { .. })).await;
    std::mem::forget(held);
}

/// Rule 6.6.
#[test]
fn a5_a_runtime_that_goes_away_runs_no_hooks_and_answers_who_asks() {
    let (notes, heard) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (asked, actor) = runtime.block_on(async {
        let system = ActorSystem::new("abandoned");
        let actor = system.spawn("actor", move || Hooked { notes: notes.clone() }).unwrap();
        let asked = actor.hang(None).ask().unwrap();
        let behind = actor.hang(None).ask().unwrap();
        tokio::task::yield_now().await;
        drop(system);
        tokio::task::yield_now().await;
        assert!(!actor.actor_ref().has_ended(), "dropping a handle stops nobody");
        ([asked, behind], actor)
    });
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    other.block_on(async {
        for answer in asked {
            assert!(matches!(answer.await, Err(AskError::Stopped)));
        }
        assert!(matches!(actor.hang(None).await, Err(AskError::Stopped)));
    });
    assert!(actor.actor_ref().has_ended());
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Notes that its hook ran.
#[actor]
struct Hooked {
    notes: std::sync::mpsc::Sender<&'static str>,
}

#[actor]
impl Hooked {
    /// Holds a token while it hangs.
    #[handler]
    async fn hang(&mut self, token: Option<Arc<()>>) {
        std::future::pending::<()>().await;
        drop(token);
    }

    #[post_stop]
    fn stop(&mut self) {
        self.notes.send("stopped").expect("the test listens");
    }
}

/// Rule 6.5.
#[supervise::test]
async fn s17_3_a_killed_actor_is_told_so_and_poison_is_seen_by_no_handler(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeping(Strategy::one_for_one(), always_restart);
    let boss = system.spawn_with("boss", boss).unwrap();
    let handle = probe.handle();
    let actor = child(&boss, "actor", PingPong::factory(&handle)).await;
    for _ in 0..2 {
        actor.actor_ref().kill();
        actor.ping().tell().unwrap();
    }
    actor.actor_ref().poison();
    assert_eq!(probe.all().await, ["restarted for killed", "ping", "restarted for killed", "ping", "stopped"]);
    assert_eq!(system.expect_decision(&actor).await.failure.kind(), FailureKind::Killed);
    system.expect_decision(&actor).await;
}

/// Rule 6.5.
#[supervise::test]
async fn s9_1_a_stop_of_a_failed_actor_ends_it_although_its_restart_is_under_way(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || Witness::new("parent", &handle)).unwrap();
    let handle = probe.handle();
    let leaf = child(&parent, "leaf", move || Witness::slow("leaf", secs(1), &handle)).await;
    probe.all().await;
    fail(&leaf, "boom");
    system.settle().await;
    leaf.actor_ref().stop();
    fail(&parent, "own");
    system.settle().await;
    parent.actor_ref().stop();
    system.expect_terminated(&parent).await;
    let heard = probe.all().await;
    let stops = |name: &str| heard.iter().filter(|heard| **heard == format!("{name} stops")).count();
    assert_eq!((stops("leaf"), stops("parent")), (1, 1), "{heard:?}");
    system.advance(ms(1)).await;
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Rule 2.5.
#[supervise::test]
async fn s8_4_a_failure_after_the_stop_was_asked_for_is_nobody_s_to_decide(system: &TestSystem) {
    let probe = system.probe();
    let worker = system.spawn("worker", Worker::factory("worker", &probe.handle())).unwrap();
    worker
        .work(
            ms(1),
            Box::new(|ctx| {
                ctx.stop_self();
                Err(Boom("too late"))
            }),
        )
        .tell()
        .unwrap();
    assert_eq!(system.expect_terminated(&worker).await, HowEnded::Graceful);
    let heard = probe.all().await;
    assert_eq!(heard.last().map(String::as_str), Some("worker stops"));
    assert_eq!(heard.iter().filter(|heard| heard.ends_with("stops")).count(), 1);
    // Whichever arrived at its parent first, it did not come back.
    system.expect_restarts(&worker, 0).await;
}
