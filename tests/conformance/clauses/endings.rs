//! What the end of a system reports.

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{Directive, Event, Strategy};

use crate::fixture::{PingPong, secs};
use crate::log::Log;

/// Rule 9.1.
#[test]
fn s14_2_the_failure_that_ends_a_system_is_how_it_ends() {
    let settings =
        ActorSystem::builder("test").guardian_unchecked(Strategy::one_for_one(), |_, _| Ok(Directive::Escalate));
    let log = Log::open();
    testkit::run_with(settings, async |system: &TestSystem| {
        let probe = system.probe();
        let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
        actor.die("boom").tell().unwrap();
        let failure = system.when_terminated().await.expect_err("a failure ended it");
        assert_eq!(failure.to_string(), "boom");
        assert_eq!(failure.origin(), Some(&actor.actor_ref().path()));
        // The runtime prints what `main` returns in this form.
        let printed = format!("{failure:?}");
        assert!(printed.contains("boom") && printed.contains("/user/actor"), "{printed}");
        system.terminate().await;
        assert!(system.when_terminated().await.unwrap_err().is_same(&failure), "it has ended already");
        system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    });
    let errors = log.errors();
    assert!(errors.iter().any(|line| line.contains("boom; the system `test` ends")), "{errors:?}");
}

/// Ends the system from within.
#[actor]
struct Ender;

#[actor]
impl Ender {
    #[handler]
    async fn end(&mut self, ctx: &mut Context<Self>) -> bool {
        let system = ctx.system();
        system.terminate().await;
        system.has_terminated()
    }

    /// Ends it from a task of its own, which may wait.
    #[handler]
    fn have_it_ended(&mut self, ctx: &mut Context<Self>) {
        let system = ctx.system();
        tokio::spawn(async move {
            system.terminate().await;
            assert!(system.has_terminated());
        });
    }
}

/// Rule 9.2.
#[supervise::test]
async fn s14_3_an_actor_that_ends_its_system_does_not_wait_for_its_own_end(system: &TestSystem) {
    let begun = tokio::time::Instant::now();
    let ender = system.spawn("ender", || Ender).unwrap();
    let ended = ender.end().await.expect("the handler is not aborted");
    assert!(!ended, "it runs, so the system cannot have ended");
    system.when_terminated().await.unwrap();
    assert!(begun.elapsed() < secs(1), "nobody waited for a timeout");
}

/// Rule 9.2.
#[supervise::test]
async fn s14_3_a_task_that_an_actor_starts_waits_for_the_end(system: &TestSystem) {
    let ender = system.spawn("ender", || Ender).unwrap();
    ender.have_it_ended().await.unwrap();
    system.when_terminated().await.unwrap();
}
