//! The life-cycle of a system (GRD).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use supervise::SystemTerminated;
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use tokio::time::Instant;

/// Does nothing.
#[actor]
struct Idle;

#[actor]
impl Idle {}

/// Keeps `/system` waiting as long as it lives.
#[actor]
struct Registrant {
    _hook: Option<supervise::TerminationHook>,
}

#[actor]
impl Registrant {}

/// Rule 9.4.
#[supervise::test]
async fn grd_01_callbacks_run_last_first(system: &TestSystem) {
    let probe = system.probe();
    for n in 1..=10_u64 {
        let handle = probe.handle();
        system
            .on_termination(async move {
                tokio::time::sleep(Duration::from_millis(n * 7 % 5)).await;
                handle.note(n);
            })
            .unwrap();
    }
    system.terminate().await;
    assert_eq!(probe.all().await, (1..=10).rev().collect::<Vec<_>>());
}

/// Rule 9.4.
#[supervise::test]
async fn grd_01_a_callback_that_panics_keeps_no_other_from_running(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    system.on_termination(async move { handle.note("ran") }).unwrap();
    system.on_termination(async { panic!("on purpose") }).unwrap();
    system.terminate().await;
    probe.expect("ran").await;
}

/// Rule 9.4.
#[supervise::test]
async fn grd_02_the_end_comes_after_the_callbacks(system: &TestSystem) {
    let done = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&done);
    let idle = system.spawn("idle", || Idle).unwrap();
    system
        .on_termination(async move {
            assert!(idle.actor_ref().has_ended());
            tokio::time::sleep(Duration::from_secs(50)).await;
            flag.store(true, Ordering::Relaxed);
        })
        .unwrap();
    let begun = Instant::now();
    system.terminate().await;
    assert!(done.load(Ordering::Relaxed));
    assert_eq!(begun.elapsed(), Duration::from_secs(50));
}

/// Rule 9.2.
#[supervise::test]
async fn grd_03_a_system_says_whether_it_has_ended(system: &TestSystem) {
    system.spawn("idle", || Idle).unwrap();
    assert!(!system.has_terminated());
    system.terminate().await;
    assert!(system.has_terminated());
    system.when_terminated().await.unwrap();
}

/// Rule 9.4.
#[supervise::test]
async fn grd_04_what_comes_after_the_end_is_refused(system: &TestSystem) {
    system.terminate().await;
    let refused = SystemTerminated { system: "test".to_owned() };
    assert_eq!(system.on_termination(async { panic!("never run") }), Err(refused.clone()));
    assert_eq!(system.termination_hook().unwrap_err(), refused);
    assert!(matches!(system.spawn("late", || Idle), Err(SpawnError::Stopping { .. })));
    assert_eq!(system.user_guardian().path().to_string(), "supervise://test/user");
    assert!(system.user_guardian().has_ended());
}

/// Rule 9.4.
#[test]
fn grd_05_a_callback_registered_during_the_end_is_run_once_or_refused() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..200 {
            let system = ActorSystem::new("race");
            let (ran, mut runs) = tokio::sync::mpsc::unbounded_channel();
            let terminating = tokio::spawn({
                let system = system.clone();
                async move { system.terminate().await }
            });
            let mut accepted = 0;
            while system.on_termination({
                let ran = ran.clone();
                async move { ran.send(()).unwrap() }
            }) == Ok(())
            {
                accepted += 1;
                tokio::task::yield_now().await;
            }
            terminating.await.unwrap();
            drop(ran);
            let mut count = 0;
            while runs.recv().await.is_some() {
                count += 1;
            }
            assert_eq!(count, accepted);
        }
    });
}

/// Rule 9.2.
#[test]
fn grd_06_once_a_spawn_is_refused_all_are() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let system = ActorSystem::new("race");
        let mut spawned = Vec::new();
        let terminating = tokio::spawn({
            let system = system.clone();
            async move {
                tokio::task::yield_now().await;
                system.terminate().await;
            }
        });
        let mut was_refused = false;
        while !(was_refused && system.has_terminated()) {
            match system.spawn_anonymous(|| Idle) {
                Ok(idle) => {
                    assert!(!was_refused, "spawned after a refusal");
                    spawned.push(idle);
                }
                Err(refused) => {
                    assert!(matches!(refused, SpawnError::Stopping { .. }), "{refused}");
                    was_refused = true;
                }
            }
            tokio::task::yield_now().await;
        }
        tokio::time::timeout(Duration::from_secs(10), terminating).await.unwrap().unwrap();
        assert!(spawned.iter().all(|idle| idle.actor_ref().has_ended()));
    });
}

/// Rule 9.4.
#[supervise::test]
async fn grd_15_hooks_are_called_when_the_top_level_actors_are_gone(system: &TestSystem) {
    let probe = system.probe();
    let idle = system.spawn("idle", || Idle).unwrap();
    let mut hook = system.termination_hook().unwrap();
    let handle = probe.handle();
    let waiting = tokio::spawn(async move {
        hook.called().await;
        handle.note(idle.actor_ref().has_ended());
        hook
    });
    system.settle().await;
    probe.expect_none().await;
    system.user_guardian().poison();
    probe.expect(true).await;
    system.settle().await;
    assert!(!system.has_terminated());
    assert!(!system.system_guardian().has_ended(), "it waits for the hook");
    drop(waiting.await.unwrap());
}

/// Rule 9.4.
#[supervise::test]
async fn grd_16_the_system_ends_when_its_hooks_are_done(system: &TestSystem) {
    let mut hooks = [(); 2].map(|()| system.termination_hook().unwrap());
    system.user_guardian().poison();
    for hook in &mut hooks {
        hook.called().await;
    }
    let late = system.termination_hook();
    assert!(late.is_err(), "hooks have been called");
    let [first, second] = hooks;
    first.done();
    system.advance(Duration::from_mins(10)).await;
    assert!(!system.has_terminated());
    second.done();
    system.when_terminated().await.unwrap();
    assert!(system.system_guardian().has_ended());
}

/// Rule 9.4.
#[supervise::test]
async fn grd_17_a_hook_whose_registrant_died_is_done(system: &TestSystem) {
    let mut hook = Some(system.termination_hook().unwrap());
    let registrant = system.spawn("registrant", move || Registrant { _hook: hook.take() }).unwrap();
    let task = tokio::spawn({
        let mut hook = system.termination_hook().unwrap();
        async move {
            hook.called().await;
            panic!("the registrant dies");
        }
    });
    system.stop(&registrant);
    system.expect_terminated(&registrant).await;
    system.terminate().await;
    assert!(task.await.unwrap_err().is_panic());
}

/// Rule 9.4.
#[supervise::test]
async fn hooks_are_called_although_the_system_guardian_ends_first(system: &TestSystem) {
    let mut hook = system.termination_hook().unwrap();
    system.system_guardian().stop();
    system.when_terminated().await.unwrap();
    hook.called().await;
}
