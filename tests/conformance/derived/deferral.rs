//! Z: failures that find their supervisor suspended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Backoff, Directive, Event, Strategy};

use crate::fixture::{Boom, Keeper, KeeperRef, child, fail, keeper, keeper_under, kept, names_of_children, secs};

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
) -> (KeeperRef, SlowToFailRef) {
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

/// Rules 2.5, 7.10.
#[supervise::test]
async fn z_11_a_kept_child_whose_failure_was_deferred_is_decided_about_and_restarts_once(system: &TestSystem) {
    let probe = system.probe();
    let decisions = Arc::default();
    let (middle, leaf) = deferring(system, &probe.handle(), &decisions).await;
    system.advance(secs(10)).await;
    assert_eq!(probe.all().await, ["middle is replaced for own", "middle is back", "leaf is replaced"]);
    assert_eq!(decisions.load(Ordering::SeqCst), 1);
    assert_eq!(leaf.ping().await.unwrap(), "pong", "its counter is back at zero");
    assert_eq!(names_of_children(&middle).await, ["leaf"]);
    system.expect_restarts(&leaf, 1).await;
    system.expect_restarts(&middle, 1).await;
}
