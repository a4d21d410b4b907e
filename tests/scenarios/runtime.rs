//! A runtime that is shut down, or that lacks a part.

use std::panic::{AssertUnwindSafe, catch_unwind};

use supervise::prelude::*;
use supervise::{EndReason, HowEnded, RuntimeGone, StartError};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

#[actor]
struct Idle;

#[actor]
impl Idle {
    #[handler]
    fn ping(&self) {}
}

#[actor]
struct Mourner {
    subject: IdleRef,
    news: mpsc::UnboundedSender<HowEnded>,
}

#[actor]
impl Mourner {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.watch(&self.subject);
    }

    #[handler]
    fn ping(&self) {}

    #[watch]
    fn gone(&mut self, gone: Terminated<Idle>) {
        self.news.send(gone.how()).expect("the test listens");
    }
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Rules 6.6, 8.1, 9.3.
#[test]
fn nobody_waits_for_a_system_whose_runtime_is_gone() {
    for theirs in [current_thread, multi_thread] {
        let (theirs, ours) = (theirs(), current_thread());
        let system = theirs.block_on(async { ActorSystem::new("theirs") });
        let idle = system.spawn("idle", || Idle).unwrap();
        theirs.block_on(async { idle.ping().await.unwrap() });
        let mut hook = system.termination_hook().unwrap();
        let callback_dropped = {
            let (kept, dropped) = tokio::sync::oneshot::channel::<()>();
            system.on_termination(async move { drop(kept) }).unwrap();
            dropped
        };
        let (news, mut told) = mpsc::unbounded_channel();
        let mine = ours.block_on(async {
            let mine = ActorSystem::new("mine");
            let subject = idle.clone();
            let mourner =
                mine.spawn("mourner", move || Mourner { subject: subject.clone(), news: news.clone() }).unwrap();
            mourner.ping().await.unwrap();
            mine
        });
        // So that the watch has arrived.
        theirs.block_on(async { idle.ping().await.unwrap() });
        let waiting = ours.spawn({
            let (system, idle) = (system.clone(), idle.clone());
            async move { system.ended(&idle).await }
        });
        drop(theirs);
        ours.block_on(async {
            assert_eq!(told.recv().await, Some(HowEnded::Aborted), "a watcher of another system");
            // Rule 8.8.
            let reason = idle.actor_ref().end_reason();
            assert!(matches!(reason, Some(EndReason::RuntimeGone)), "{reason:?}");
            waiting.await.unwrap();
            system.ended(&idle).await;
            hook.called().await;
            callback_dropped.await.expect_err("it did not run");
            assert!(system.has_terminated());
            let failure = system.when_terminated().await.unwrap_err();
            assert_eq!(failure.downcast_ref(), Some(&RuntimeGone { system: "theirs".to_owned() }));
            system.terminate().await;
            assert!(matches!(idle.ping().await, Err(AskError::Stopped)));
            assert!(system.spawn("late", || Idle).is_err());
            mine.terminate().await;
            mine.when_terminated().await.expect("it ended as it was told to");
        });
    }
}

/// A runtime is often dropped by a panic of the thread that owns it. Even then, the system must not report that it
/// ended normally. Rule 6.6.
#[test]
fn a_runtime_that_a_panic_drops_is_gone_all_the_same() {
    for theirs in [current_thread, multi_thread] {
        let theirs = theirs();
        let (system, idle) = theirs.block_on(async {
            let system = ActorSystem::new("theirs");
            let idle = system.spawn("idle", || Idle).unwrap();
            idle.ping().await.unwrap();
            (system, idle)
        });
        catch_unwind(AssertUnwindSafe(|| {
            let _theirs = theirs;
            panic!("as told");
        }))
        .unwrap_err();
        assert!(system.has_terminated());
        assert!(idle.actor_ref().has_ended());
        current_thread().block_on(async {
            let failure = system.when_terminated().await.unwrap_err();
            assert_eq!(failure.downcast_ref(), Some(&RuntimeGone { system: "theirs".to_owned() }));
            assert!(matches!(idle.ping().await, Err(AskError::Stopped)));
        });
    }
}

/// Callbacks run when the last actor has ended, so the system has ended even if they have not finished.
/// Rule 9.4.
#[test]
fn a_runtime_that_goes_away_during_the_callbacks_ends_no_end() {
    let runtime = current_thread();
    let system = runtime.block_on(async {
        let system = ActorSystem::new("theirs");
        let (begun, begins) = tokio::sync::oneshot::channel();
        system
            .on_termination(async move {
                begun.send(()).expect("the test listens");
                std::future::pending::<()>().await;
            })
            .unwrap();
        system.user_guardian().stop();
        begins.await.unwrap();
        assert!(!system.has_terminated(), "the callback is not done");
        system
    });
    drop(runtime);
    assert!(system.has_terminated());
    current_thread().block_on(async { system.when_terminated().await.expect("its actors had ended") });
}

#[test]
fn a_runtime_without_timers_is_refused() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let refused = runtime.block_on(async { ActorSystem::builder("timeless").start().unwrap_err() });
    assert_eq!(refused, StartError::NoTimers);
    assert!(refused.to_string().contains("enable_time"), "{refused}");
}

/// Asks the next one, and answers when that has answered.
#[actor]
struct Link {
    next: Option<LinkRef>,
    begun: mpsc::UnboundedSender<()>,
}

#[actor]
impl Link {
    #[handler]
    async fn depth(&mut self) -> u32 {
        let Some(next) = &self.next else {
            self.begun.send(()).expect("the test listens");
            return std::future::pending().await;
        };
        next.depth().await.unwrap_or(0) + 1
    }
}

/// Each actor that is dropped with the runtime leaves its asker without an answer, which wakes another actor that is dropped.
/// The stack does not grow with their number. Rules 1.5, 11.2.
#[test]
fn a_long_chain_of_asks_goes_with_its_runtime() {
    for theirs in [current_thread, multi_thread] {
        let theirs = theirs();
        let (system, answer) = theirs.block_on(async {
            let system = ActorSystem::new("theirs");
            let (begun, mut begins) = mpsc::unbounded_channel();
            let mut last: Option<LinkRef> = None;
            for _ in 0..20_000 {
                let (next, begun) = (last.take(), begun.clone());
                let link = move || Link { next: next.clone(), begun: begun.clone() };
                last = Some(system.spawn_anonymous(link).unwrap());
            }
            let answer = last.unwrap().depth().ask().unwrap();
            begins.recv().await.unwrap();
            (system, answer)
        });
        drop(theirs);
        assert!(system.has_terminated());
        current_thread().block_on(async { assert!(matches!(answer.await, Err(AskError::Stopped))) });
    }
}
