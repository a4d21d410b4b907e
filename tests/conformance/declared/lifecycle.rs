//! Declared children that start and stop with their parent.

use std::io;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Directive, Event, Stage};

use super::{End, Plan, Worker, WorkerRef};

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
    system.advance(Duration::from_millis(50)).await;
    for step in [("one", "start"), ("two", "start"), ("three", "broken"), ("two", "stop"), ("one", "stop")] {
        steps.expect(step).await;
    }
    steps.expect_none().await;
    let decision = system.expect_decision(&shelf).await;
    assert_eq!(decision.failure.stage(), Stage::Initialization);
    assert!(decision.failure.downcast_ref::<io::Error>().is_some());
    let three = decision.failure.origin().expect("it was not the shelf that failed first");
    assert_eq!(three.name(), "three");
    assert_eq!(decision.directive, Directive::Restart, "by the default table of `/user`");
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Keeps its child when it restarts. The child does not stop by itself.
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
