//! DSP: what supervision relies on in mailboxes and in running messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Directive, Event, FailureKind, Strategy};
use tokio::task::JoinError;

use crate::fixture::{always_escalate, child, keeper_deciding, keeper_under, keeping, secs};

/// Notices when two of its handlers run at once.
#[actor]
struct Lonely {
    inside: Arc<AtomicU32>,
    handled: Arc<AtomicU32>,
}

#[actor]
impl Lonely {
    #[handler]
    async fn work(&mut self) {
        assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "two handlers at once");
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.handled.fetch_add(1, Ordering::SeqCst);
    }
}

/// Lets `threads` threads send `each` messages, and returns how many were handled.
fn from_many_threads(threads: u32, each: u32) -> u32 {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let handled = Arc::new(AtomicU32::new(0));
    let system = runtime.block_on(async { ActorSystem::new("threads") });
    let counted = Arc::clone(&handled);
    let inside = Arc::default();
    let lonely = system
        .spawn("lonely", move || Lonely { inside: Arc::clone(&inside), handled: Arc::clone(&counted) })
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..each {
                    lonely.work().tell().unwrap();
                }
            });
        }
    });
    runtime.block_on(async {
        lonely.work().await.unwrap();
        system.terminate().await;
    });
    handled.load(Ordering::SeqCst) - 1
}

/// Rule 1.1.
#[test]
fn dsp_01_messages_are_handled_one_at_a_time() {
    assert_eq!(from_many_threads(4, 500), 2000);
}

/// Rule 1.2.
#[test]
fn dsp_02_nothing_is_lost_from_ten_threads() {
    assert_eq!(from_many_threads(10, 20), 200);
}

#[derive(Debug, Clone, Copy)]
enum When {
    Already,
    Later,
}

#[derive(Debug, Clone, Copy)]
enum How {
    Failed,
    Cancelled,
    Panicked,
}

/// Awaits a task that fails.
async fn come_to_no_good(when: When, how: How) -> Result<(), JoinError> {
    let task = tokio::spawn(async move {
        if let When::Later = when {
            tokio::time::sleep(secs(1)).await;
        }
        match how {
            How::Failed | How::Panicked => panic!("on purpose"),
            How::Cancelled => std::future::pending::<()>().await,
        }
    });
    match (when, how) {
        (When::Already, How::Cancelled) => task.abort(),
        (When::Later, How::Cancelled) => {
            let abort = task.abort_handle();
            tokio::spawn(async move {
                tokio::time::sleep(secs(1)).await;
                abort.abort();
            });
        }
        _ => {}
    }
    let came_to = task.await;
    if let How::Panicked = how {
        came_to.expect("it panicked");
        return Ok(());
    }
    came_to
}

/// Awaits such a task in a handler, or before its first message.
#[actor]
struct Awaiting {
    at_start: Option<(When, How)>,
}

#[actor]
impl Awaiting {
    #[pre_start]
    async fn start(&mut self) -> Result<(), JoinError> {
        match self.at_start {
            Some((when, how)) => come_to_no_good(when, how).await,
            None => Ok(()),
        }
    }

    #[handler]
    async fn work(&mut self, when: When, how: How) -> Result<(), JoinError> {
        come_to_no_good(when, how).await
    }
}

/// Rule 2.4.
#[supervise::test]
async fn dsp_08_an_async_failure_is_escalated_exactly_once(system: &TestSystem) {
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    for when in [When::Already, When::Later] {
        for how in [How::Failed, How::Cancelled, How::Panicked] {
            for at_start in [true, false] {
                let row = format!("{when:?} {how:?}, at the start: {at_start}");
                let middle = keeper_under(&top, "middle", keeping(Strategy::one_for_one(), always_escalate)).await;
                let first = at_start.then_some((when, how));
                let actor = child(&middle, "actor", move || Awaiting { at_start: first }).await;
                if !at_start {
                    assert!(matches!(actor.work(when, how).await, Err(AskError::Failed(_))), "{row}");
                }
                system.advance(secs(2)).await;
                let failure = system.expect_escalated(&actor).await;
                match how {
                    How::Panicked => assert_eq!(failure.kind(), FailureKind::Panic, "{row}"),
                    How::Failed | How::Cancelled => {
                        let error = failure.downcast_ref::<JoinError>().expect(&row);
                        assert_eq!(error.is_cancelled(), matches!(how, How::Cancelled), "{row}");
                    }
                }
                assert_eq!(failure.is_initialization(), at_start, "{row}");
                assert!(system.expect_decision(&middle).await.failure.is_same(&failure), "{row}");
                let more = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
                assert!(more.is_empty(), "{row}: {more:?}");
                assert!(actor.actor_ref().has_ended(), "{row}");
            }
        }
    }
}
