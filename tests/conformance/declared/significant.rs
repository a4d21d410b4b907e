//! Declared children whose end also ends their parent.

use std::time::Duration;

use supervise::HowEnded;
use supervise::prelude::*;
use supervise::testkit::{TestProbe, TestSystem};

use super::{End, Plan, Step, Worker, WorkerRef, supervisor};

supervisor!(
    Any,
    one_for_one(auto_shutdown = any_significant),
    transient significant,
    temporary significant,
    transient
);
supervisor!(
    All,
    one_for_one(auto_shutdown = all_significant),
    transient significant,
    temporary significant,
    transient
);

/// Rule 14.5.
#[supervise::test]
async fn otp_13_any_significant_end_ends_the_supervisor(system: &TestSystem) {
    let (supervisor, _, steps) = Any::run(system).await;
    let [one, _, three] = supervisor.workers().await.unwrap();
    End::ByItself.of(&three);
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("three", "stop")], "an insignificant end changes nothing");
    End::ByItself.of(&one);
    assert_eq!(system.expect_terminated(&supervisor).await, HowEnded::Graceful);
    assert_eq!(steps.all().await, [("one", "stop"), ("two", "stop")]);

    let (supervisor, ..) = Any::run(system).await;
    let [one, ..] = supervisor.workers().await.unwrap();
    End::StoppingItself.of(&one);
    system.expect_terminated(&supervisor).await;
}

/// Rule 14.5.
#[supervise::test]
async fn otp_13_a_temporary_significant_child_counts_when_it_fails(system: &TestSystem) {
    system.allow_failures();
    let (supervisor, ..) = Any::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    End::Failing.of(&one);
    system.advance(Duration::from_secs(1)).await;
    assert!(!supervisor.actor_ref().has_ended(), "a transient one is restarted");
    End::Failing.of(&two);
    system.expect_terminated(&supervisor).await;
}

/// Rule 14.5.
#[supervise::test]
async fn otp_13_an_end_that_somebody_asked_for_is_not_significant(system: &TestSystem) {
    let (supervisor, _, steps) = Any::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    supervisor.stop_worker(one).await.unwrap();
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("one", "stop")]);
    End::Poisoned.of(&two);
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("two", "stop")]);
    assert!(!supervisor.actor_ref().has_ended());
}

/// Rule 14.5.
#[supervise::test]
async fn otp_13_all_significant_ends_end_the_supervisor(system: &TestSystem) {
    let (supervisor, ..) = All::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    End::ByItself.of(&two);
    system.advance(Duration::from_secs(1)).await;
    assert!(!supervisor.actor_ref().has_ended());
    End::ByItself.of(&one);
    system.expect_terminated(&supervisor).await;
}

/// Rule 14.5.
#[supervise::test]
async fn otp_13_the_last_significant_child_ends_the_supervisor_however_the_others_ended(system: &TestSystem) {
    let (supervisor, ..) = All::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    End::Stopped.of(&one);
    system.advance(Duration::from_secs(1)).await;
    assert!(!supervisor.actor_ref().has_ended());
    End::ByItself.of(&two);
    system.expect_terminated(&supervisor).await;

    let (supervisor, ..) = All::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    End::ByItself.of(&one);
    End::Stopped.of(&two);
    system.advance(Duration::from_secs(1)).await;
    assert!(!supervisor.actor_ref().has_ended(), "the last one did not end by itself");
}
