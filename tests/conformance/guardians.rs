//! GRD: the guardians, and the end of a system.

use std::sync::Arc;

use proptest::prelude::*;
use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{Directive, Event, HowEnded, InvalidName, Outcome, StartError, Strategy, stopping_decider};

use crate::fixture::{Boom, PingPong, Witness, ms, secs, within};
use crate::log::Log;

/// Takes a moment to end.
#[actor]
struct Lingering;

#[actor]
impl Lingering {
    #[post_stop]
    async fn linger(&mut self) {
        tokio::time::sleep(secs(2)).await;
    }
}

/// Rule 9.2.
#[supervise::test]
async fn grd_06_creation_is_refused_while_the_system_ends(system: &TestSystem) {
    let begun = tokio::time::Instant::now();
    let mut made = Vec::new();
    let mut refused = 0;
    let ((), ()) = tokio::join!(
        async {
            tokio::time::sleep(ms(100)).await;
            system.terminate().await;
        },
        async {
            while begun.elapsed() < secs(3) {
                match system.spawn_anonymous(|| Lingering) {
                    Ok(actor) => {
                        assert_eq!(refused, 0, "once refused, always refused");
                        made.push(actor);
                    }
                    Err(error) => {
                        assert!(matches!(error, SpawnError::Stopping { .. }), "{error}");
                        refused += 1;
                    }
                }
                tokio::time::sleep(ms(10)).await;
            }
        }
    );
    assert!(made.len() >= 10 && refused >= 200, "{} made, {refused} refused", made.len());
    assert!(made.iter().all(|actor| actor.actor_ref().has_ended()));
    assert!(begun.elapsed() < secs(5));
}

/// Rule 9.1.
#[test]
fn grd_09_the_guardian_s_strategy_is_a_setting() {
    let settings = ActorSystem::builder("test")
        .guardian_unchecked(Strategy::one_for_one(), |failure, _| Ok(stopping_decider(failure)));
    testkit::run_with(settings, async |system: &TestSystem| {
        let log = Log::open();
        let (probe, news) = (system.probe(), system.probe());
        let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
        let handle = news.handle();
        let watcher = system.spawn("watcher", move || Witness::new("watcher", &handle)).unwrap();
        let subject = actor.clone();
        within(&watcher, move |ctx| ctx.watch(&subject)).await;
        actor.die("boom").tell().unwrap();
        assert_eq!(news.all().await, ["watcher starts", "watcher sees actor gone"]);
        assert_eq!(crate::fixture::how_ended(system, &actor).await, HowEnded::Graceful);
        assert_eq!(log.errors().len(), 1);
        assert_eq!(system.expect_decision(&actor).await.outcome, Outcome::Stopped { children: 1 });
    });
}

/// Rule 9.1.
#[test]
fn grd_10_the_system_ends_when_its_guardian_escalates() {
    let settings =
        ActorSystem::builder("test").guardian_unchecked(Strategy::one_for_one(), |_, _| Ok(Directive::Escalate));
    testkit::run_with(settings, async |system: &TestSystem| {
        let log = Log::open();
        let probe = system.probe();
        let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
        actor.die("boom").tell().unwrap();
        assert_eq!(system.when_terminated().await.unwrap_err().to_string(), "boom");
        assert!(actor.actor_ref().has_ended());
        let errors = log.errors();
        assert!(matches!(&errors[..], [error] if error.contains("boom")), "{errors:?}");
        let cause = system.expect_escalated(&actor).await;
        let decided = system.take_all(|event| matches!(event, Event::Decided { .. })).await;
        assert!(
            matches!(&decided[..], [Event::Decided { failure, directive: Directive::Stop, .. }]
                if failure.is_same(&cause)),
            "{decided:?}"
        );
    });
}

proptest! {
    /// Rule 16.1.
    #[test]
    fn grd_19_valid_system_names_are_allowed(name in "[a-zA-Z0-9][a-zA-Z0-9_-]{0,20}") {
        prop_assert_eq!(start_error(&name), StartError::NoRuntime, "the name is fine");
    }

    /// Rule 16.1.
    #[test]
    fn grd_19_invalid_system_names_are_refused(
        name in "[-_][a-z]{0,3}|[a-z]{0,3}[ *@#$%/.~ü][a-z]{0,3}",
    ) {
        let error = start_error(&name);
        let refused = matches!(error, StartError::InvalidName(InvalidName::Character { .. }));
        prop_assert!(refused, "{}", error);
    }
}

/// Rule 16.1.
#[test]
fn grd_19_an_empty_system_name_is_refused() {
    assert_eq!(start_error(""), StartError::InvalidName(InvalidName::Empty));
}

/// Why a system of this name does not start outside a runtime. The name is checked first.
fn start_error(name: &str) -> StartError {
    ActorSystem::builder(name).start().expect_err("there is no runtime here")
}

/// Holds what its factory holds.
#[actor]
struct Holder {
    _token: Arc<()>,
}

#[actor]
impl Holder {
    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 6.3.
#[supervise::test]
async fn grd_20_the_factory_is_let_go_when_its_actor_ends(system: &TestSystem) {
    let token = Arc::new(());
    let kept = Arc::clone(&token);
    let holder = system.spawn("holder", move || Holder { _token: Arc::clone(&kept) }).unwrap();
    holder.fail().tell().unwrap();
    system.expect_restarts(&holder, 1).await;
    assert_eq!(Arc::strong_count(&token), 3, "the test, the factory, one instance");
    system.stop(&holder);
    system.expect_terminated(&holder).await;
    assert_eq!(Arc::strong_count(&token), 1, "although the ref is still held");
}
