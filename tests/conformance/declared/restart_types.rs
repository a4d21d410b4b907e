//! Which declared children come back.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{TestProbe, TestSystem};
use supervise::{Outcome, PermanentEnded};

use super::{End, Plan, Step, Worker, WorkerRef, supervisor};

supervisor!(OneForOne, one_for_one(), permanent, transient, temporary);

/// Rule 14.2.
#[supervise::test]
async fn otp_23_a_permanent_child_always_comes_back(system: &TestSystem) {
    let (supervisor, _, steps) = OneForOne::run(system).await;
    let first = supervisor.workers().await.unwrap()[0].clone();
    for end in [End::ByItself, End::StoppingItself] {
        let [one, ..] = supervisor.workers().await.unwrap();
        end.of(&one);
        system.advance(Duration::from_secs(1)).await;
        assert_eq!(steps.all().await, [("one", "stop"), ("one", "start")]);
        let decision = system.expect_decision(&one).await;
        assert!(decision.failure.downcast_ref::<PermanentEnded>().is_some());
        assert!(one.actor_ref().has_ended());
    }
    let [one, ..] = supervisor.workers().await.unwrap();
    assert_ne!(one, first, "a normal end ends the incarnation");
    End::Failing.of(&one);
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("one", "stop"), ("one", "start")]);
    system.expect_restarts(&one, 1).await;
    assert_eq!(supervisor.workers().await.unwrap()[0], one, "a restart does not");
    assert_eq!(supervisor.children().await.unwrap().len(), 3);
}

/// Rule 14.2.
#[supervise::test]
async fn otp_23_a_permanent_child_that_somebody_stopped_stays_down(system: &TestSystem) {
    for end in [End::Stopped, End::Poisoned] {
        let (supervisor, _, steps) = OneForOne::run(system).await;
        let [one, ..] = supervisor.workers().await.unwrap();
        end.of(&one);
        system.advance(Duration::from_secs(1)).await;
        assert_eq!(steps.all().await, [("one", "stop")]);
        assert_eq!(supervisor.children().await.unwrap(), ["two", "three"]);
        system.stop(&supervisor);
        system.advance(Duration::from_secs(1)).await;
    }
}

/// Rule 14.2.
#[supervise::test]
async fn otp_24_a_transient_child_comes_back_after_a_failure_only(system: &TestSystem) {
    let (supervisor, _, steps) = OneForOne::run(system).await;
    let [_, two, _] = supervisor.workers().await.unwrap();
    End::Failing.of(&two);
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("two", "stop"), ("two", "start")]);
    system.expect_restarts(&two, 1).await;
    End::ByItself.of(&two);
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("two", "stop")]);
    assert_eq!(supervisor.children().await.unwrap(), ["one", "three"]);
    assert!(matches!(two.count().await, Err(AskError::Stopped)));
    system.expect_dead_letter(&two).await;
}

/// Rule 14.2.
#[supervise::test]
async fn otp_25_a_temporary_child_never_comes_back(system: &TestSystem) {
    for end in [End::ByItself, End::StoppingItself, End::Stopped, End::Poisoned, End::Failing] {
        let (supervisor, _, steps) = OneForOne::run(system).await;
        let [.., three] = supervisor.workers().await.unwrap();
        end.of(&three);
        system.advance(Duration::from_secs(1)).await;
        assert_eq!(steps.all().await, [("three", "stop")]);
        assert_eq!(supervisor.children().await.unwrap(), ["one", "two"]);
        if matches!(end, End::Failing) {
            assert_eq!(system.expect_decision(&three).await.outcome, Outcome::Stopped { children: 1 });
        }
        system.stop(&supervisor);
        system.advance(Duration::from_secs(1)).await;
    }
}

supervisor!(AllWithBystander, all_for_one(), permanent, temporary, transient);
supervisor!(RestWithBystander, rest_for_one(), permanent, temporary, transient);

/// Rule 14.2.
#[supervise::test]
async fn otp_26_a_temporary_bystander_is_gone_after_its_group_restarts(system: &TestSystem) {
    let (supervisor, _, steps) = AllWithBystander::run(system).await;
    let [one, ..] = supervisor.workers().await.unwrap();
    End::ByItself.of(&one);
    system.advance(Duration::from_secs(1)).await;
    let group = [("one", "stop"), ("three", "stop"), ("two", "stop"), ("one", "start"), ("three", "start")];
    assert_eq!(steps.all().await, group);
    assert_eq!(supervisor.children().await.unwrap(), ["three", "one"]);
    system.stop(&supervisor);
    system.advance(Duration::from_secs(1)).await;

    let (supervisor, _, steps) = RestWithBystander::run(system).await;
    let [one, ..] = supervisor.workers().await.unwrap();
    End::Failing.of(&one);
    system.advance(Duration::from_secs(1)).await;
    let group = [("three", "stop"), ("two", "stop"), ("one", "stop"), ("one", "start"), ("three", "start")];
    assert_eq!(steps.all().await, group);
    assert_eq!(supervisor.children().await.unwrap(), ["one", "three"]);
    system.allow_failures();
}

/// Lends its child a value that must be given back.
#[actor]
#[supervise(on(_) = Restart)]
struct Lender {
    token: Arc<()>,
    #[child(
        |lender| {
            let token = Arc::clone(&lender.token);
            move || Borrower { _token: Arc::clone(&token) }
        },
        restart = temporary
    )]
    borrower: Child<Borrower>,
}

#[actor]
impl Lender {
    #[handler]
    fn borrower(&self) -> BorrowerRef {
        self.borrower.actor()
    }

    #[handler]
    fn fail(&self) -> io::Result<()> {
        Err(io::ErrorKind::TimedOut.into())
    }
}

#[actor]
struct Borrower {
    _token: Arc<()>,
}

#[actor]
impl Borrower {}

/// Rule 14.2.
#[supervise::test]
async fn otp_40_the_factory_of_a_temporary_child_goes_with_it(system: &TestSystem) {
    let token = Arc::new(());
    let lent = Arc::clone(&token);
    let lender = move || Lender { token: Arc::clone(&lent), borrower: Child::default() };
    let lender = system.spawn("lender", lender).unwrap();
    for _ in 0..2 {
        let borrower = lender.borrower().await.unwrap();
        assert_eq!(
            Arc::strong_count(&token),
            5,
            "the test, the lender and its factory, the borrower and its factory"
        );
        system.stop(&borrower);
        system.expect_terminated(&borrower).await;
        system.settle().await;
        assert_eq!(Arc::strong_count(&token), 3);
        // The next lender has a borrower of its own.
        lender.fail().tell().unwrap();
        system.expect_restarts(&lender, 1).await;
    }
}
