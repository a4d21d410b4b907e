//! Declared children that restart, alone and together.

use std::io;
use std::time::Duration;

use supervise::HowEnded;
use supervise::prelude::*;
use supervise::testkit::{TestProbe, TestSystem};

use super::{End, Plan, Step, Worker, WorkerRef, supervisor};

supervisor!(
    TwiceForOne,
    one_for_one(max_retries = 2, count = supervisor, on_limit = Escalate),
    permanent,
    permanent,
    permanent
);

/// Rule 7.6.
#[supervise::test]
async fn otp_28_one_for_one_replaces_the_child_until_the_supervisor_gives_up(system: &TestSystem) {
    let (supervisor, _, steps) = TwiceForOne::run(system).await;
    let [one, two, three] = supervisor.workers().await.unwrap();
    for end in [&one, &two] {
        End::Failing.of(end);
        system.advance(Duration::from_secs(1)).await;
        system.expect_restarts(end, 1).await;
    }
    let alone = [("one", "stop"), ("one", "start"), ("two", "stop"), ("two", "start")];
    assert_eq!(steps.all().await, alone);
    End::Failing.of(&three);
    system.settle().await;
    assert!(system.expect_escalated(&three).await.downcast_ref::<io::Error>().is_some());
    assert!(system.expect_decision(&supervisor).await.failure.downcast_ref::<io::Error>().is_some());
}

supervisor!(FourForOne, one_for_one(max_retries = 4, on_limit = Escalate), transient, transient, transient);

/// Rule 7.6.
#[supervise::test]
async fn otp_29_one_for_one_gives_up_on_a_child_that_cannot_restart(system: &TestSystem) {
    system.allow_failures();
    let (supervisor, plan, steps) = FourForOne::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    plan.break_starts_of("one");
    End::Failing.of(&one);
    system.advance(Duration::from_secs(1)).await;
    let tries = steps.all().await;
    let healthy_ends = tries.iter().position(|step| *step == ("two", "stop")).unwrap();
    assert_eq!(tries[..healthy_ends].iter().filter(|step| **step == ("one", "broken")).count(), 4);
    assert!(system.expect_escalated(&one).await.is_initialization());
    assert!(two.actor_ref().has_ended(), "the healthy child goes with its supervisor");
}

supervisor!(
    AllForOne,
    all_for_one(max_retries = 2, count = supervisor, on_limit = Escalate),
    permanent,
    permanent,
    permanent
);

const WHOLE_GROUP: [Step; 6] =
    [("three", "stop"), ("two", "stop"), ("one", "stop"), ("one", "start"), ("two", "start"), ("three", "start")];

/// Rule 14.3.
#[supervise::test]
async fn otp_30_all_for_one_restarts_all_in_order_until_the_supervisor_gives_up(system: &TestSystem) {
    let (supervisor, _, steps) = AllForOne::run(system).await;
    let [one, two, three] = supervisor.workers().await.unwrap();
    one.count().await.unwrap();
    for end in [&two, &one] {
        End::Failing.of(end);
        system.advance(Duration::from_secs(1)).await;
        assert_eq!(steps.all().await, WHOLE_GROUP);
        assert_eq!(one.count().await.unwrap(), 1, "a new instance, the same ref");
    }
    End::Failing.of(&three);
    system.expect_escalated(&three).await;
    system.expect_decision(&supervisor).await;
    system.expect_decision(&one).await;
    system.expect_decision(&two).await;
}

/// Rule 14.3.
#[supervise::test]
async fn otp_31_all_for_one_gives_up_on_a_child_that_cannot_restart(system: &TestSystem) {
    system.allow_failures();
    let (supervisor, plan, _) = AllForOne::run(system).await;
    let [one, two, three] = supervisor.workers().await.unwrap();
    plan.break_starts_of("two");
    End::Failing.of(&one);
    system.advance(Duration::from_secs(1)).await;
    assert!(system.expect_escalated(&two).await.is_initialization());
    for worker in [&one, &two, &three] {
        assert!(worker.actor_ref().has_ended());
    }
}

supervisor!(Everyone, all_for_one(), permanent, permanent, permanent);

/// Rule 14.3.
#[supervise::test]
async fn otp_32_a_failing_start_in_a_group_restarts_those_that_had_just_started(system: &TestSystem) {
    system.allow_failures();
    let (supervisor, plan, steps) = Everyone::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    plan.break_starts_of("two");
    End::Failing.of(&one);
    // The retry of a start waits a little, since there is no limit.
    system.advance(Duration::from_millis(50)).await;
    let failed = [("three", "stop"), ("two", "stop"), ("one", "stop"), ("one", "start"), ("two", "broken")];
    assert_eq!(steps.all().await, failed);
    plan.mend();
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("one", "stop"), ("one", "start"), ("two", "start"), ("three", "start")]);
    assert_eq!(supervisor.workers().await.unwrap()[1], two);
    assert_eq!(two.count().await.unwrap(), 1);
}

supervisor!(Rest, rest_for_one(), transient, transient, transient);

/// Rule 14.3.
#[supervise::test]
async fn otp_49_a_supervisor_stays_responsive_while_a_restart_keeps_failing(system: &TestSystem) {
    system.allow_failures();
    let (supervisor, plan, steps) = Rest::run(system).await;
    let [one, two, three] = supervisor.workers().await.unwrap();
    plan.break_starts_of("two");
    End::Failing.of(&two);
    system.advance(Duration::from_millis(50)).await;
    assert_eq!(steps.all().await, [("three", "stop"), ("two", "stop"), ("two", "broken")]);
    // The earlier child is not affected. The later one stays down, and its messages wait.
    assert_eq!(one.count().await.unwrap(), 1);
    three.count().tell().unwrap();
    assert_eq!(supervisor.children().await.unwrap(), ["one", "two", "three"]);
    system.advance(Duration::from_secs(1)).await;
    let retries = steps.all().await;
    assert!(retries.len() > 1 && retries.iter().all(|step| *step == ("two", "broken")), "{retries:?}");
    plan.mend();
    system.advance(Duration::from_secs(10)).await;
    assert_eq!(steps.all().await, [("two", "start"), ("three", "start")]);
    assert_eq!(three.count().await.unwrap(), 2);
}

/// Rule 14.3.
#[supervise::test]
async fn otp_49_a_supervisor_can_be_stopped_while_a_restart_keeps_failing(system: &TestSystem) {
    system.allow_failures();
    let (supervisor, plan, steps) = Rest::run(system).await;
    let [_, two, _] = supervisor.workers().await.unwrap();
    plan.break_starts_of("two");
    End::Failing.of(&two);
    system.advance(Duration::from_millis(50)).await;
    steps.all().await;
    system.stop(&supervisor);
    assert_eq!(system.expect_terminated(&supervisor).await, HowEnded::Graceful);
    assert_eq!(steps.all().await, [("one", "stop")], "the others have no instance");
}

/// Rule 14.3.
#[supervise::test]
async fn otp_50_rest_for_one_halts_in_reverse_and_starts_in_order(system: &TestSystem) {
    let (supervisor, _, steps) = Rest::run(system).await;
    let [_, two, _] = supervisor.workers().await.unwrap();
    End::Failing.of(&two);
    system.advance(Duration::from_secs(1)).await;
    let rest = [("three", "stop"), ("two", "stop"), ("two", "start"), ("three", "start")];
    assert_eq!(steps.all().await, rest);
    system.expect_restarts(&two, 1).await;
    system.stop(&supervisor);
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("three", "stop"), ("two", "stop"), ("one", "stop")]);
}

supervisor!(Branch, one_for_one(max_retries = 1, on_limit = Escalate), permanent, permanent, permanent);

#[actor]
#[supervise(all_for_one(max_retries = 4, within = "1h"), on(_) = Restart)]
struct Tree {
    plan: Plan,
    #[child(|this| Branch::factory(&this.plan))]
    left: Child<Branch>,
    #[child(|this| Branch::factory(&this.plan), restart = permanent)]
    right: Child<Branch>,
}

#[actor]
impl Tree {
    #[handler]
    async fn workers(&self) -> Result<[WorkerRef; 3], AskError> {
        self.left.actor().workers().await
    }
}

/// Rule 14.3.
#[supervise::test]
async fn otp_43_a_branch_that_gives_up_restarts_the_whole_tree(system: &TestSystem) {
    system.allow_failures();
    let (plan, steps) = Plan::new(system);
    let tree = {
        let plan = plan.clone();
        let build = move || Tree { plan: plan.clone(), left: Child::default(), right: Child::default() };
        system.spawn("tree", build).unwrap()
    };
    system.advance(Duration::from_secs(1)).await;
    steps.all().await;
    let [one, two, _] = tree.workers().await.unwrap();

    End::Failing.of(&one);
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("one", "stop"), ("one", "start")], "one death replaces one worker");

    End::Failing.of(&one);
    system.advance(Duration::from_secs(1)).await;
    let branch = [("three", "stop"), ("two", "stop"), ("one", "stop")];
    let again = [("one", "start"), ("two", "start"), ("three", "start")];
    assert_eq!(steps.all().await, [branch, branch, again, again].concat());
    let [_, new, _] = tree.workers().await.unwrap();
    assert_ne!(new, two, "the branch's children are new incarnations");
}

/// Rules 6.1, 14.3.
#[supervise::test]
async fn otp_32_a_group_restart_waits_for_the_timeout_of_a_child_that_is_starting(system: &TestSystem) {
    let (supervisor, plan, steps) = AllForOne::run(system).await;
    let [one, _, three] = supervisor.workers().await.unwrap();
    plan.hold_up_starts_of("three");
    End::Failing.of(&three);
    system.advance(Duration::from_secs(1)).await;
    let down = [("three", "stop"), ("two", "stop"), ("one", "stop")];
    assert_eq!(steps.all().await, [&down[..], &[("one", "start"), ("two", "start")]].concat());
    plan.mend();
    End::Failing.of(&one);
    system.advance(Duration::from_secs(4)).await;
    assert_eq!(steps.all().await, []);
    system.advance(Duration::from_secs(2)).await;
    let all = [("two", "stop"), ("one", "stop"), ("one", "start"), ("two", "start"), ("three", "start")];
    assert_eq!(steps.all().await, all);
    system.allow_failures();
}
