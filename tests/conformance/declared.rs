//! Declared children: OTP's supervisor cases, for children that are fields.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{AutoShutdown, Event, HowEnded, Outcome, PermanentEnded, RestartType, Stage};

/// What a worker notes: its name, and what it does.
type Step = (&'static str, &'static str);

/// What a test tells the workers apart from their messages.
#[derive(Clone)]
struct Plan {
    steps: ProbeHandle<Step>,
    /// Workers of this name cannot start.
    broken: Arc<std::sync::Mutex<Option<&'static str>>>,
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

fn notes(name: &'static str, step: &'static str) -> Step {
    (name, step)
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
    fn children(&self, ctx: &mut Context<Self>) -> Vec<String> {
        ctx.children().iter().map(|child| child.name().to_owned()).collect()
    }
}

fn shelf(plan: &Plan) -> impl FnMut() -> Shelf + Send + 'static + use<> {
    let plan = plan.clone();
    move || Shelf { plan: plan.clone(), one: Child::default(), two: Child::default(), three: Child::default() }
}

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
    assert_eq!(system.expect_terminated(&shelf).await, HowEnded::Graceful);
}
