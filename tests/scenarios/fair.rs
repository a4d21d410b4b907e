//! Supervision leaves time for the other tasks of the runtime.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use supervise::prelude::*;
use supervise::testkit::TestSystem;

const CHILDREN: usize = 4_000;

/// How many system messages an actor handles in one turn.
const ONE_TURN: usize = 128;

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn fail(&mut self) -> Result<(), AsTold> {
        Err(AsTold)
    }
}

/// Counts what it has decided.
#[actor]
#[supervise(on(AsTold if |_| count()) = Resume, on(_) = Escalate)]
struct Parent;

static DECIDED: AtomicUsize = AtomicUsize::new(0);

fn count() -> bool {
    DECIDED.fetch_add(1, Ordering::SeqCst);
    true
}

#[actor]
impl Parent {
    #[handler]
    fn children(&mut self, ctx: &mut Context<Self>) -> Vec<ChildRef> {
        (0..CHILDREN).map(|_| ctx.spawn_anonymous(|| Child).expect("a running parent")).collect()
    }
}

/// Waits until the tasks that are ready have had their turn. (`yield_now` waits longer, for the driver.)
async fn next_turn() {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Rule 1.9.
#[supervise::test]
async fn a_supervisor_of_many_failing_children_leaves_time_for_other_tasks(system: &TestSystem) {
    system.allow_failures();
    let parent = system.spawn("parent", || Parent).unwrap();
    let children = parent.children().await.unwrap();
    system.settle().await;
    let over = Arc::new(AtomicBool::new(false));
    let witness = tokio::spawn({
        let over = Arc::clone(&over);
        async move {
            let (mut before, mut most) = (DECIDED.load(Ordering::SeqCst), 0);
            while !over.load(Ordering::SeqCst) {
                next_turn().await;
                let decided = DECIDED.load(Ordering::SeqCst);
                most = most.max(decided - before);
                before = decided;
            }
            most
        }
    });
    for child in &children {
        child.fail().tell().unwrap();
    }
    while DECIDED.load(Ordering::SeqCst) < CHILDREN {
        tokio::task::yield_now().await;
    }
    over.store(true, Ordering::SeqCst);
    let most = witness.await.unwrap();
    assert!(most <= 2 * ONE_TURN, "the other task had to wait for {most} decisions");
}
