//! Declared children that cannot start at first, for example because a database is down when the service
//! boots.

use std::io;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Directive, Event, Outcome};

use super::{Plan, Worker, WorkerRef};
use crate::fixture::secs;
use crate::log::Log;

/// A supervisor of a database and of a server. Its own start is noted too.
macro_rules! service {
    ($name:ident, $strategy:ident($($argument:tt)*), $restart:expr) => {
        #[actor]
        #[supervise($strategy($($argument)*), on(io::Error) = $restart, on(_) = Escalate)]
        struct $name {
            plan: Plan,
            #[child(|this| Worker::factory("db", &this.plan))]
            db: Child<Worker>,
            #[child(|this| Worker::factory("web", &this.plan))]
            web: Child<Worker>,
        }

        impl $name {
            fn factory(plan: &Plan) -> impl FnMut() -> Self + Send + 'static + use<> {
                let plan = plan.clone();
                move || Self { plan: plan.clone(), db: Child::default(), web: Child::default() }
            }
        }

        #[actor]
        impl $name {
            #[pre_start]
            fn open(&mut self) {
                self.plan.steps.note(("service", "start"));
            }

            #[handler]
            fn db(&self) -> WorkerRef {
                self.db.actor()
            }
        }
    };
}

service!(Patient, one_for_one(), Restart(backoff(min = "1s", max = "8s")));

/// Rules 7.8, 14.1.
#[supervise::test]
async fn otp_08_a_field_that_cannot_start_at_first_follows_the_backoff(system: &TestSystem) {
    let (plan, steps) = Plan::new(system);
    plan.break_starts_of("db");
    let service = system.spawn("service", Patient::factory(&plan)).unwrap();
    let db = service.db().await.unwrap();
    // Messages wait for it.
    let count = db.count().ask().unwrap();
    for step in [("db", "broken"), ("web", "start"), ("service", "start")] {
        steps.expect(step).await;
    }
    for delay in [1, 2, 4, 8, 8] {
        let decision = system.expect_decision(&db).await;
        assert_eq!(decision.outcome, Outcome::Restarting { children: 1, delay: Some(secs(delay)) });
        system.advance(secs(delay) + Duration::from_millis(5)).await;
        steps.expect(("db", "broken")).await;
    }
    plan.mend();
    system.advance(secs(600)).await;
    steps.expect(("db", "start")).await;
    assert_eq!(count.await.unwrap(), 1, "the message has waited all the time");
    system.expect_decision(&db).await;
    steps.expect_none().await;
}

service!(Ordered, rest_for_one(backoff(min = "1s", max = "8s")), Restart);

/// Rules 7.1, 14.1.
#[supervise::test]
async fn otp_08_what_depends_on_a_field_waits_for_its_first_start(system: &TestSystem) {
    let (plan, steps) = Plan::new(system);
    plan.break_starts_of("db");
    let service = system.spawn("service", Ordered::factory(&plan)).unwrap();
    let db = service.db().ask().unwrap();
    system.advance(secs(60)).await;
    let tried = steps.all().await;
    assert!(tried.len() > 5 && tried.iter().all(|step| *step == ("db", "broken")), "{tried:?}");
    plan.mend();
    system.advance(secs(9)).await;
    assert_eq!(steps.all().await, [("db", "start"), ("web", "start"), ("service", "start")]);
    assert_eq!(db.await.unwrap().count().await.unwrap(), 1);
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

service!(
    Limited,
    one_for_one(max_retries = 3, within = "1m", on_limit = Escalate),
    Restart(backoff(min = "1s", max = "8s"))
);

/// Rules 3.3, 5.3, 7.6, 10.2.
#[supervise::test]
async fn otp_08_nothing_dies_for_good_when_the_limit_of_a_field_is_escalated(system: &TestSystem) {
    let log = Log::open();
    let (plan, steps) = Plan::new(system);
    plan.break_starts_of("db");
    let service = system.spawn("service", Limited::factory(&plan)).unwrap();
    let db = service.db().await.unwrap().actor_ref().path();
    system.advance(secs(8)).await;
    let reached = system
        .expect("a limit", |event| match event {
            Event::LimitReached { supervisor, child, failure, .. } => {
                Some((supervisor.clone(), child.clone(), failure.clone()))
            }
            _ => None,
        })
        .await;
    assert_eq!((&reached.0, &reached.1), (&service.actor_ref().path(), &db));
    assert_eq!(reached.2.origin(), Some(&db), "the failure says where it began");
    let lines = log.errors().into_iter().filter(|line| line.contains("limit is reached")).collect::<Vec<_>>();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    for said in ["/user/service/db", "entity not found", "3 restarts within 1 min", "service fails"] {
        assert!(line.contains(said), "`{said}` is missing: {line}");
    }
    let decision = system.expect_decision(&service).await;
    assert_eq!(decision.directive, Directive::Restart, "it had started itself");
    assert_eq!(decision.failure.origin(), Some(&db));
    // Ten minutes later.
    system.advance(secs(600)).await;
    assert!(!service.actor_ref().has_ended());
    plan.mend();
    system.advance(secs(20)).await;
    assert_eq!(service.db().await.unwrap().count().await.unwrap(), 1);
    let steps = steps.all().await;
    assert!(steps.contains(&("db", "start")), "{steps:?}");
    system.allow_failures();
}

service!(Strict, one_for_one(), Restart);

/// Rules 10.2, 14.1.
#[supervise::test]
async fn otp_08_a_field_that_cannot_start_is_named(system: &TestSystem) {
    let log = Log::open();
    let (plan, steps) = Plan::new(system);
    plan.break_starts_of("db");
    let service = system.spawn("service", Strict::factory(&plan)).unwrap();
    system.advance(Duration::from_millis(50)).await;
    let decision = system.expect_decision(&service).await;
    let origin = decision.failure.origin().expect("somebody failed first").to_string();
    assert!(origin.ends_with("/user/service/db"), "{origin}");
    let [line] = &log.errors()[..] else { panic!("{:?}", log.errors()) };
    assert!(line.contains("/user/service/db"), "{line}");
    // It has not failed itself, so it starts again after growing delays.
    assert_eq!(decision.outcome, Outcome::Restarting { children: 1, delay: Some(Duration::from_millis(100)) });
    steps.expect(("db", "broken")).await;
    plan.mend();
    system.advance(secs(1)).await;
    assert_eq!(steps.all().await, [("db", "start"), ("web", "start"), ("service", "start")]);
    system.allow_failures();
}
