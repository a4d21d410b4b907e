//! Declared children: OTP's supervisor cases, for children that are fields.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{HowEnded, Outcome, PermanentEnded, Stage};

/// What a worker notes: its name, and what it does.
type Step = (&'static str, &'static str);

/// What a test tells the workers apart from their messages.
#[derive(Clone)]
struct Plan {
    steps: ProbeHandle<Step>,
    /// Workers of this name cannot start.
    broken: Arc<Mutex<Option<&'static str>>>,
}

impl Plan {
    fn new(system: &TestSystem) -> (Self, TestProbe<Step>) {
        let probe = system.probe();
        (Self { steps: probe.handle(), broken: Arc::default() }, probe)
    }

    fn break_starts_of(&self, name: &'static str) {
        *self.broken.lock().unwrap() = Some(name);
    }

    fn mend(&self) {
        *self.broken.lock().unwrap() = None;
    }
}

/// Tells when it starts and ends, and does what it is told.
#[actor]
struct Worker {
    name: &'static str,
    plan: Plan,
    handled: u32,
}

impl Worker {
    fn factory(name: &'static str, plan: &Plan) -> impl FnMut() -> Self + Send + 'static + use<> {
        let plan = plan.clone();
        move || Self { name, plan: plan.clone(), handled: 0 }
    }

    fn note(&self, step: &'static str) {
        self.plan.steps.note((self.name, step));
    }
}

#[actor]
impl Worker {
    #[pre_start]
    async fn open(&mut self) -> io::Result<()> {
        // So that a start that is not awaited shows.
        tokio::time::sleep(Duration::from_millis(1)).await;
        if *self.plan.broken.lock().unwrap() == Some(self.name) {
            self.note("broken");
            return Err(io::ErrorKind::NotFound.into());
        }
        self.note("start");
        Ok(())
    }

    #[post_stop]
    async fn close(&mut self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.note("stop");
    }

    #[handler]
    fn fail(&self) -> io::Result<()> {
        Err(io::ErrorKind::TimedOut.into())
    }

    #[handler]
    fn leave(&self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    #[handler]
    fn count(&mut self) -> u32 {
        self.handled += 1;
        self.handled
    }
}

// ---- starting and stopping ------------------------------------------------------------------------------------------

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Shelf {
    plan: Plan,
    #[child(|this| Worker::factory("one", &this.plan))]
    one: Child<Worker>,
    #[child(|this| Worker::factory("two", &this.plan))]
    two: Child<Worker>,
    #[child(|this| Worker::factory("three", &this.plan))]
    three: Child<Worker>,
}

#[actor]
impl Shelf {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.plan.steps.note(("shelf", "start"));
        ctx.spawn("other", Worker::factory("other", &self.plan)).map(|_| ())
    }

    #[post_stop]
    fn close(&mut self) {
        self.plan.steps.note(("shelf", "stop"));
    }

    #[handler]
    async fn count(&self) -> Result<u32, AskError> {
        self.two.actor().count().await
    }

    #[handler]
    fn spawn_named(&self, name: &'static str, ctx: &mut Context<Self>) -> Option<SpawnError> {
        ctx.spawn(name, Worker::factory(name, &self.plan)).err()
    }

    #[handler]
    fn stop_two(&self, ctx: &mut Context<Self>) {
        ctx.stop(&self.two.actor());
    }

    #[handler]
    fn children(&self, ctx: &mut Context<Self>) -> Vec<String> {
        ctx.children().iter().map(|child| child.name().to_owned()).collect()
    }
}

fn shelf(plan: &Plan) -> impl FnMut() -> Shelf + Send + 'static + use<> {
    let plan = plan.clone();
    move || Shelf { plan: plan.clone(), one: Child::default(), two: Child::default(), three: Child::default() }
}

/// Rule 14.1.
#[supervise::test]
async fn otp_01_fields_start_in_order_before_their_parent_and_are_reached_through_it(system: &TestSystem) {
    let (plan, steps) = Plan::new(system);
    let shelf = system.spawn("shelf", shelf(&plan)).unwrap();
    assert_eq!(shelf.count().await.unwrap(), 1);
    for name in ["one", "two", "three", "shelf"] {
        steps.expect((name, "start")).await;
    }
    assert_eq!(shelf.children().await.unwrap(), ["one", "two", "three", "other"]);
}

/// Rule 14.4.
#[supervise::test]
async fn otp_50_fields_stop_in_reverse_after_all_other_children(system: &TestSystem) {
    let (plan, steps) = Plan::new(system);
    let shelf = system.spawn("shelf", shelf(&plan)).unwrap();
    system.advance(Duration::from_secs(1)).await;
    for name in ["one", "two", "three", "shelf", "other"] {
        steps.expect((name, "start")).await;
    }
    system.stop(&shelf);
    for name in ["other", "three", "two", "one", "shelf"] {
        steps.expect((name, "stop")).await;
    }
    assert!(shelf.actor_ref().has_ended());
}

/// Rule 14.1.
#[supervise::test]
async fn otp_08_a_field_that_cannot_start_is_its_parents_initialization_failure(system: &TestSystem) {
    let (plan, steps) = Plan::new(system);
    plan.break_starts_of("three");
    let shelf = system.spawn("shelf", shelf(&plan)).unwrap();
    system.advance(Duration::from_secs(1)).await;
    for step in [("one", "start"), ("two", "start"), ("three", "broken"), ("two", "stop"), ("one", "stop")] {
        steps.expect(step).await;
    }
    steps.expect_none().await;
    let decision = system.expect_decision(&shelf).await;
    assert_eq!(decision.failure.stage(), Stage::Initialization);
    assert!(decision.failure.downcast_ref::<io::Error>().is_some());
    assert!(shelf.actor_ref().has_ended());
}

// ---- restart types --------------------------------------------------------------------------------------------------

/// A supervisor of three workers.
macro_rules! supervisor {
    ($name:ident, $strategy:ident($($argument:tt)*), $one:ident, $two:ident, $three:ident) => {
        #[actor]
        #[supervise($strategy($($argument)*), on(_) = Restart)]
        struct $name {
            plan: Plan,
            #[child(|this| Worker::factory("one", &this.plan), restart = $one)]
            one: Child<Worker>,
            #[child(|this| Worker::factory("two", &this.plan), restart = $two)]
            two: Child<Worker>,
            #[child(|this| Worker::factory("three", &this.plan), restart = $three)]
            three: Child<Worker>,
        }

        impl $name {
            /// Spawns one, and waits until it runs.
            #[allow(dead_code, reason = "some are parts of a tree")]
            async fn run(system: &TestSystem) -> (<$name as Supervisor>::Ref, Plan, TestProbe<Step>) {
                let (plan, steps) = Plan::new(system);
                let supervisor = system.spawn("supervisor", Self::factory(&plan)).unwrap();
                system.advance(Duration::from_secs(1)).await;
                assert_eq!(steps.all().await, [("one", "start"), ("two", "start"), ("three", "start")]);
                (supervisor, plan, steps)
            }

            fn factory(plan: &Plan) -> impl FnMut() -> Self + Send + 'static + use<> {
                let plan = plan.clone();
                move || Self { plan: plan.clone(), one: Child::default(), two: Child::default(), three: Child::default() }
            }
        }

        #[actor]
        impl $name {
            /// The first, second and third.
            #[handler]
            fn workers(&self) -> [WorkerRef; 3] {
                [self.one.actor(), self.two.actor(), self.three.actor()]
            }

            #[handler]
            fn children(&self, ctx: &mut Context<Self>) -> Vec<String> {
                ctx.children().iter().map(|child| child.name().to_owned()).collect()
            }
        }
    };
}

/// How a worker ends.
#[derive(Clone, Copy)]
enum End {
    ByItself,
    Poisoned,
    Failing,
}

impl End {
    fn of(self, worker: &WorkerRef) {
        match self {
            Self::ByItself => worker.leave().tell().unwrap(),
            Self::Poisoned => worker.actor_ref().poison(),
            Self::Failing => worker.fail().tell().unwrap(),
        }
    }
}

supervisor!(OneForOne, one_for_one(), permanent, transient, temporary);

/// Rule 14.2.
#[supervise::test]
async fn otp_23_a_permanent_child_always_comes_back(system: &TestSystem) {
    let (supervisor, _, steps) = OneForOne::run(system).await;
    let first = supervisor.workers().await.unwrap()[0].clone();
    for end in [End::ByItself, End::Poisoned] {
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
    for end in [End::ByItself, End::Poisoned, End::Failing] {
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

// ---- strategies -----------------------------------------------------------------------------------------------------

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

// ---- a restart loop -------------------------------------------------------------------------------------------------

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
    // The earlier child is untouched, the later one stays down, and its messages wait.
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

// ---- a tree ---------------------------------------------------------------------------------------------------------

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

// ---- significant children -------------------------------------------------------------------------------------------

macro_rules! mortal {
    ($name:ident, $shutdown:ident) => {
        #[actor]
        #[supervise(one_for_one(auto_shutdown = $shutdown), on(_) = Restart)]
        struct $name {
            plan: Plan,
            #[child(|this| Worker::factory("one", &this.plan), significant)]
            one: Child<Worker>,
            #[child(|this| Worker::factory("two", &this.plan), restart = temporary, significant)]
            two: Child<Worker>,
            #[child(|this| Worker::factory("three", &this.plan))]
            three: Child<Worker>,
        }

        impl $name {
            async fn run(system: &TestSystem) -> (<$name as Supervisor>::Ref, TestProbe<Step>) {
                let (plan, steps) = Plan::new(system);
                let build = move || Self {
                    plan: plan.clone(),
                    one: Child::default(),
                    two: Child::default(),
                    three: Child::default(),
                };
                let supervisor = system.spawn("supervisor", build).unwrap();
                system.advance(Duration::from_secs(1)).await;
                steps.all().await;
                (supervisor, steps)
            }
        }

        #[actor]
        impl $name {
            #[handler]
            fn workers(&self) -> [WorkerRef; 3] {
                [self.one.actor(), self.two.actor(), self.three.actor()]
            }

            #[handler]
            fn stop_worker(&self, worker: WorkerRef, ctx: &mut Context<Self>) {
                ctx.stop(&worker);
            }
        }
    };
}

mortal!(Any, any_significant);
mortal!(All, all_significant);

/// Rule 14.5.
#[supervise::test]
async fn otp_13_any_significant_end_ends_the_supervisor(system: &TestSystem) {
    let (supervisor, steps) = Any::run(system).await;
    let [one, _, three] = supervisor.workers().await.unwrap();
    End::ByItself.of(&three);
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("three", "stop")], "an insignificant end changes nothing");
    End::ByItself.of(&one);
    assert_eq!(system.expect_terminated(&supervisor).await, HowEnded::Graceful);
    assert_eq!(steps.all().await, [("one", "stop"), ("two", "stop")]);
}

/// Rule 14.5.
#[supervise::test]
async fn otp_13_a_temporary_significant_child_counts_when_it_fails(system: &TestSystem) {
    system.allow_failures();
    let (supervisor, _) = Any::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    End::Failing.of(&one);
    system.advance(Duration::from_secs(1)).await;
    assert!(!supervisor.actor_ref().has_ended(), "a transient one is restarted");
    End::Failing.of(&two);
    system.expect_terminated(&supervisor).await;
}

/// Rule 14.5.
#[supervise::test]
async fn otp_13_an_end_the_supervisor_asked_for_is_not_significant(system: &TestSystem) {
    let (supervisor, steps) = Any::run(system).await;
    let [one, ..] = supervisor.workers().await.unwrap();
    supervisor.stop_worker(one).await.unwrap();
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(steps.all().await, [("one", "stop")]);
    assert!(!supervisor.actor_ref().has_ended());
}

/// Rule 14.5.
#[supervise::test]
async fn otp_13_all_significant_ends_end_the_supervisor(system: &TestSystem) {
    let (supervisor, _) = All::run(system).await;
    let [one, two, _] = supervisor.workers().await.unwrap();
    End::ByItself.of(&two);
    system.advance(Duration::from_secs(1)).await;
    assert!(!supervisor.actor_ref().has_ended());
    End::ByItself.of(&one);
    system.expect_terminated(&supervisor).await;
}

// ---- beyond OTP -----------------------------------------------------------------------------------------------------

/// Keeps its child when it restarts, and has one that does not stop by itself.
#[actor]
#[supervise(on(_) = Restart)]
struct Keeper {
    plan: Plan,
    lives: u32,
    #[child(|this| { this.lives += 1; Worker::factory("kept", &this.plan) }, restart = permanent)]
    kept: Child<Worker>,
    #[child(|_| || Stubborn, stop_timeout = "2s")]
    stubborn: Child<Stubborn>,
}

#[actor]
impl Keeper {
    #[pre_restart]
    fn keep(&mut self) {}

    #[handler]
    fn fail(&self) -> io::Result<()> {
        Err(io::ErrorKind::TimedOut.into())
    }

    #[handler]
    fn kept(&self) -> (WorkerRef, u32) {
        (self.kept.actor(), self.lives)
    }

    #[handler]
    fn stubborn(&self) -> StubbornRef {
        self.stubborn.actor()
    }
}

#[actor]
struct Stubborn;

#[actor]
impl Stubborn {
    #[handler]
    async fn wait(&self) {
        std::future::pending::<()>().await;
    }
}

fn keeper(plan: &Plan) -> impl FnMut() -> Keeper + Send + 'static + use<> {
    let plan = plan.clone();
    move || Keeper { plan: plan.clone(), lives: 0, kept: Child::default(), stubborn: Child::default() }
}

/// Rule 14.6.
#[supervise::test]
async fn a_child_that_outlives_its_parents_restart_is_bound_to_the_new_instance(system: &TestSystem) {
    let (plan, steps) = Plan::new(system);
    let keeper = system.spawn("keeper", keeper(&plan)).unwrap();
    let (before, _) = keeper.kept().await.unwrap();
    keeper.fail().tell().unwrap();
    system.advance(Duration::from_secs(1)).await;
    system.expect_restarts(&keeper, 1).await;
    let (after, lives) = keeper.kept().await.unwrap();
    assert_eq!((&after, lives), (&before, 1), "the same child, declared by the new instance");
    assert_eq!(steps.all().await, [("kept", "start"), ("kept", "stop"), ("kept", "start")]);
    End::ByItself.of(&after);
    system.advance(Duration::from_secs(1)).await;
    let (renewed, _) = keeper.kept().await.unwrap();
    assert_ne!(renewed, after);
    assert_eq!(renewed.count().await.unwrap(), 1);
    system.expect_decision(&renewed).await;
}

/// Rule 14.4.
#[supervise::test]
async fn each_field_stops_within_a_timeout_of_its_own(system: &TestSystem) {
    let (plan, _) = Plan::new(system);
    let keeper = system.spawn("keeper", keeper(&plan)).unwrap();
    let stubborn = keeper.stubborn().await.unwrap();
    stubborn.wait().tell().unwrap();
    system.settle().await;
    system.stop(&keeper);
    system.advance(Duration::from_millis(1_900)).await;
    assert!(!stubborn.actor_ref().has_ended());
    system.advance(Duration::from_millis(200)).await;
    assert!(keeper.actor_ref().has_ended());
}

/// Rule 14.6.
#[supervise::test]
async fn the_name_of_a_field_is_taken_while_its_child_is_down(system: &TestSystem) {
    let (plan, _) = Plan::new(system);
    let shelf = system.spawn("shelf", shelf(&plan)).unwrap();
    let refused = shelf.spawn_named("two").await.unwrap();
    assert!(matches!(refused, Some(SpawnError::NameTaken { .. })));
    shelf.stop_two().await.unwrap();
    system.advance(Duration::from_secs(1)).await;
    let refused = shelf.spawn_named("two").await.unwrap();
    assert!(matches!(refused, Some(SpawnError::NameTaken { .. })));
}
