//! Supervision leaves time for the other tasks of the runtime.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Backoff, Directive, NeverFails, Props, Strategy, Unchecked};

const CHILDREN: usize = 2_000;

/// How many system messages an actor handles in one turn.
const ONE_TURN: usize = 128;

/// As how many system messages a decision counts, and also a call of a hook or a new instance.
const LONG_STEP: usize = 8;

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

#[actor]
struct Child {
    started: Arc<AtomicUsize>,
}

#[actor]
impl Child {
    #[pre_start]
    fn start(&mut self) {
        self.started.fetch_add(1, Ordering::SeqCst);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), AsTold> {
        Err(AsTold)
    }

    /// Answered by a child that is well.
    #[handler]
    fn ping(&mut self) {}
}

#[actor]
#[supervise(on(AsTold) = Resume, on(_) = Escalate)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn children(&mut self, started: Arc<AtomicUsize>, ctx: &mut Context<Self>) -> Vec<ChildRef> {
        let child = || {
            let started = Arc::clone(&started);
            ctx.spawn_anonymous(move || Child { started: Arc::clone(&started) }).expect("a running parent")
        };
        std::iter::repeat_with(child).take(CHILDREN).collect()
    }
}

/// A parent that decides by the number of its earlier decisions.
fn parent(
    strategy: Strategy,
    decide: impl Fn(usize) -> Directive + Send + 'static,
) -> Props<Parent, NeverFails, Unchecked> {
    let earlier = AtomicUsize::new(0);
    let decide = move |_: &_, _: &_| Ok(decide(earlier.fetch_add(1, Ordering::SeqCst)));
    Props::new(|| Parent).supervision_unchecked(strategy, decide)
}

/// Resumes a parent that escalates its first failure and resumes after all others.
#[actor]
#[supervise(on(Panic) = Restart, on(_) = Resume)]
struct Above {
    decided: Arc<AtomicUsize>,
}

#[actor]
impl Above {
    #[handler]
    fn parent(&mut self, ctx: &mut Context<Self>) -> ParentRef {
        let decided = Arc::clone(&self.decided);
        let decide = move |earlier| {
            decided.fetch_add(1, Ordering::SeqCst);
            if earlier == 0 { Directive::Escalate } else { Directive::Resume }
        };
        ctx.spawn_with("parent", parent(Strategy::one_for_one(), decide)).expect("a running actor")
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

/// How often something happens between two turns of another task, at most, until it has happened `times` times.
async fn most_between_two_turns(done: Arc<AtomicUsize>, times: usize) -> usize {
    let (mut before, mut most) = (done.load(Ordering::SeqCst), 0);
    while before < times {
        next_turn().await;
        let now = done.load(Ordering::SeqCst);
        most = most.max(now - before);
        before = now;
    }
    most
}

/// Rule 1.9.
#[supervise::test]
async fn a_supervisor_of_many_failing_children_leaves_time_for_other_tasks(system: &TestSystem) {
    system.allow_failures();
    let decided = Arc::new(AtomicUsize::new(0));
    let decides = Arc::clone(&decided);
    let decide = move |_| {
        decides.fetch_add(1, Ordering::SeqCst);
        Directive::Resume
    };
    let parent = system.spawn_with("parent", parent(Strategy::one_for_one(), decide)).unwrap();
    let children = parent.children(Arc::default()).await.unwrap();
    system.settle().await;
    let witness = tokio::spawn(most_between_two_turns(decided, CHILDREN));
    for child in &children {
        child.fail().tell().unwrap();
    }
    let most = witness.await.unwrap();
    assert!(most <= 2 * ONE_TURN / LONG_STEP, "the other task had to wait for {most} decisions");
}

/// Rules 1.9 and 2.5. The first failure is escalated, so the decisions about the others wait for the answer to it.
#[supervise::test]
async fn a_supervisor_that_was_suspended_while_many_children_failed_leaves_time_for_other_tasks(
    system: &TestSystem,
) {
    system.allow_failures();
    let decided = Arc::new(AtomicUsize::new(0));
    let its = Arc::clone(&decided);
    let above = system.spawn("above", move || Above { decided: Arc::clone(&its) }).unwrap();
    let parent = above.parent().await.unwrap();
    let children = parent.children(Arc::default()).await.unwrap();
    system.settle().await;
    let witness = tokio::spawn(most_between_two_turns(decided, CHILDREN));
    for child in &children {
        child.fail().tell().unwrap();
    }
    let most = witness.await.unwrap();
    assert!(most <= 2 * ONE_TURN / LONG_STEP, "the other task had to wait for {most} decisions");
    system.settle().await;
    for child in &children {
        child.ping().await.unwrap();
    }
}

/// Rules 1.9 and 7.8.
#[supervise::test]
async fn children_whose_restarts_are_due_together_leave_time_for_other_tasks(system: &TestSystem) {
    const DELAY: Duration = Duration::from_secs(60);
    system.allow_failures();
    let strategy = Strategy::one_for_one().backoff(Backoff::exponential(DELAY, DELAY).jitter(0.0));
    let parent = system.spawn_with("parent", parent(strategy, |_| Directive::Restart)).unwrap();
    let started = Arc::new(AtomicUsize::new(0));
    let children = parent.children(Arc::clone(&started)).await.unwrap();
    for child in &children {
        child.fail().tell().unwrap();
    }
    system.settle().await;
    assert_eq!(started.swap(0, Ordering::SeqCst), CHILDREN, "the restarts wait for their delay");
    let witness = tokio::spawn(most_between_two_turns(started, CHILDREN));
    tokio::time::advance(DELAY).await;
    let most = witness.await.unwrap();
    assert!(most <= 2 * ONE_TURN / LONG_STEP, "the other task had to wait for {most} restarts");
}

/// Rules 1.9 and 7.10. The last child fails first, so each failure reaches all children that failed before.
#[supervise::test]
async fn a_supervisor_whose_decisions_reach_many_children_leaves_time_for_other_tasks(system: &TestSystem) {
    /// How many children count as one system message.
    const ONE_MESSAGE: usize = 8;
    system.allow_failures();
    let minute = Duration::from_secs(60);
    let later = Strategy::rest_for_one().backoff(Backoff::exponential(minute, minute));
    for (strategy, directive) in [(later, Directive::Restart), (Strategy::rest_for_one(), Directive::Stop)] {
        let reached = Arc::new(AtomicUsize::new(0));
        let reaches = Arc::clone(&reached);
        let decide = move |earlier| {
            reaches.fetch_add(earlier + 1, Ordering::SeqCst);
            directive
        };
        let parent = system.spawn_with(format!("{directive:?}"), parent(strategy, decide)).unwrap();
        let children = parent.children(Arc::default()).await.unwrap();
        system.settle().await;
        let witness = tokio::spawn(most_between_two_turns(reached, CHILDREN * (CHILDREN + 1) / 2));
        for child in children.iter().rev() {
            child.fail().tell().unwrap();
        }
        let most = witness.await.unwrap();
        let few = 2 * ONE_TURN * ONE_MESSAGE + CHILDREN;
        assert!(most <= few, "the other task had to wait for {most} children, under {directive:?}");
    }
}
