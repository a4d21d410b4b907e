//! What the log, events and the tree show after a failure, and that looking at them changes nothing.

use std::fmt;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{DeadLetterReason, Event, SpawnError};

use crate::log::Log;

/// An error that cannot be shown.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words for this")
    }
}

impl std::error::Error for Unspeakable {}

#[derive(Debug, thiserror::Error)]
#[error("password rejected")]
struct Rejected;

#[actor]
struct Leaf;

#[actor]
impl Leaf {
    #[handler]
    fn fail(&mut self) -> Result<(), Rejected> {
        Err(Rejected)
    }

    #[handler]
    fn fail_unspeakably(&mut self) -> Result<(), Unspeakable> {
        Err(Unspeakable)
    }

    #[handler]
    fn ping(&self) {}
}

#[actor]
#[supervise(one_for_one, on(Unspeakable) = Restart, on(_) = Escalate)]
struct Branch;

#[actor]
impl Branch {
    #[handler]
    fn leaf(&mut self, ctx: &mut Context<Self>) -> Result<LeafRef, SpawnError> {
        ctx.spawn("leaf", || Leaf)
    }
}

/// A message that another thread cannot look at, only take.
#[actor]
struct Taker;

#[actor]
impl Taker {
    #[handler]
    fn take(&mut self, once: std::cell::Cell<u32>) -> u32 {
        once.get()
    }
}

#[supervise::test]
async fn a_message_that_was_not_taken_fits_into_a_boxed_error(system: &TestSystem) {
    fn tell(taker: &TakerRef, value: u32) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        taker.take(std::cell::Cell::new(value)).tell()?;
        Ok(())
    }
    system.allow_dead_letters();
    let taker = system.spawn("taker", || Taker).unwrap();
    tell(&taker, 1).unwrap();
    system.stop(&taker);
    system.expect_terminated(&taker).await;
    assert_eq!(tell(&taker, 2).unwrap_err().to_string(), "the actor has stopped");
    let refused = taker.take(std::cell::Cell::new(3)).tell().unwrap_err();
    let TakerMessage::Take { once } = refused.into_message().into_message();
    assert_eq!(once.get(), 3);
}

#[supervise::test]
async fn a_generated_ref_shows_who_it_is(system: &TestSystem) {
    let leaf = system.spawn("leaf", || Leaf).unwrap();
    assert_eq!(leaf.to_string(), leaf.actor_ref().to_string());
    let (path, uid) = (leaf.actor_ref().path(), leaf.actor_ref().uid());
    assert_eq!(format!("{leaf}"), format!("{path}#{uid}"));
    assert_eq!(path.to_string(), "supervise://test/user/leaf");
}

/// Rules 3.1, 10.3, 11.1.
#[supervise::test]
async fn a_table_is_obeyed_whose_error_cannot_be_shown(system: &TestSystem) {
    system.allow_failures();
    let log = Log::open();
    let leaf = system.spawn("branch", || Branch).unwrap().leaf().await.unwrap();
    assert!(matches!(leaf.fail_unspeakably().await, Err(AskError::Failed(_))));
    let answer = leaf.ping().await;
    assert!(answer.is_ok(), "it was not restarted");
    let errors = log.errors();
    let names_its_type =
        |text: &String| text.contains("/user/branch/leaf") && text.contains("evidence::Unspeakable;");
    assert!(errors.iter().any(names_its_type), "{errors:?}");
}

/// The report of an escalated failure must name the actor that failed first. Rule 10.2.
#[supervise::test]
async fn an_escalated_failure_says_who_failed_first(system: &TestSystem) {
    system.allow_failures();
    let log = Log::open();
    let branch = system.spawn("branch", || Branch).unwrap();
    let leaf = branch.leaf().await.unwrap();
    assert!(leaf.fail().await.is_err());
    let failure = system.expect_decision(&branch).await.failure;
    assert_eq!(failure.origin(), Some(&leaf.actor_ref().path()));
    let errors = log.errors();
    let [said] = &*errors else { panic!("{errors:?}") };
    for word in ["/user/branch/leaf", "password rejected", "supervisor=supervise://test/user "] {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}

/// Rules 3.4, 10.2.
#[supervise::test]
async fn a_table_that_panics_does_not_hide_what_it_was_to_decide_about(system: &TestSystem) {
    #[actor]
    #[supervise(one_for_one, on(Rejected if |_| panic!("never tried")) = Restart, on(_) = Stop)]
    struct Untried;

    #[actor]
    impl Untried {
        #[handler]
        fn leaf(&mut self, ctx: &mut Context<Self>) -> Result<LeafRef, SpawnError> {
            ctx.spawn("leaf", || Leaf)
        }
    }

    system.allow_failures();
    let log = Log::open();
    let leaf = system.spawn("untried", || Untried).unwrap().leaf().await.unwrap();
    assert!(leaf.fail().await.is_err());
    system.settle().await;
    let told = system.take_all(|event| matches!(event, Event::DeciderFailed { .. })).await;
    let [Event::DeciderFailed { failure, about, .. }] = &*told else { panic!("{told:?}") };
    assert_eq!(failure.to_string(), "panicked: never tried");
    assert!(about.downcast_ref::<Rejected>().is_some(), "{about}");
    let errors = log.errors();
    let both = |text: &String| text.contains("never tried") && text.contains("password rejected");
    assert!(errors.iter().any(both), "{errors:?}");
}

/// A connection that times out takes longer to fail than the shortest delay. Rule 7.8.
#[supervise::test]
async fn delays_grow_though_each_start_takes_its_time_to_fail(system: &TestSystem) {
    #[actor]
    struct Dialler {
        dials: ProbeHandle<tokio::time::Instant>,
    }

    #[actor]
    impl Dialler {
        #[pre_start]
        async fn dial(&mut self) -> Result<(), Rejected> {
            self.dials.note(tokio::time::Instant::now());
            tokio::time::sleep(Duration::from_millis(250)).await;
            Err(Rejected)
        }
    }

    #[actor]
    #[supervise(one_for_one(backoff(min = "100ms", max = "10s")), on(_) = Restart)]
    struct Exchange {
        dials: ProbeHandle<tokio::time::Instant>,
    }

    #[actor]
    impl Exchange {
        #[pre_start]
        fn connect(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
            let dials = self.dials.clone();
            ctx.spawn("dialler", move || Dialler { dials: dials.clone() }).map(drop)
        }
    }

    system.allow_failures();
    let probe = system.probe();
    let dials = probe.handle();
    system.spawn("exchange", move || Exchange { dials: dials.clone() }).unwrap();
    system.advance(Duration::from_secs(5)).await;
    let dials = probe.all().await;
    let between: Vec<_> = dials.windows(2).map(|two| (two[1] - two[0]).as_millis()).collect();
    assert_eq!(between, [350, 450, 650, 1050, 1850], "250 ms and the delay, which doubles");
}

/// The stash condition is handler code: if it fails on a message, that message has failed. Rules 1.5, 15.3.
#[supervise::test]
async fn an_asker_learns_that_the_stash_condition_failed(system: &TestSystem) {
    #[actor]
    struct Careless;

    #[actor]
    impl Careless {
        #[handler]
        fn work(&mut self) {}

        #[handler]
        fn ping(&self) {}

        #[stash_while]
        fn busy(&self, message: &CarelessMessage) -> bool {
            match message {
                CarelessMessage::Work => panic!("nobody knows"),
                CarelessMessage::Ping => false,
            }
        }
    }

    system.allow_failures();
    let careless = system.spawn("careless", || Careless).unwrap();
    let Err(AskError::Failed(failure)) = careless.work().await else { panic!("it did not fail") };
    assert_eq!(failure.to_string(), "panicked: nobody knows");
    careless.ping().await.expect("it was restarted");
}

/// Rule 11.2.
#[supervise::test]
async fn a_panic_in_the_future_of_an_aborted_handler_is_logged(system: &TestSystem) {
    struct Mine;

    impl Drop for Mine {
        fn drop(&mut self) {
            panic!("stepped on")
        }
    }

    #[actor(stop_timeout = "100ms")]
    struct Stubborn;

    #[actor]
    impl Stubborn {
        #[handler]
        async fn wait(&mut self) {
            let _mine = Mine;
            std::future::pending::<()>().await;
        }
    }

    let log = Log::open();
    let stubborn = system.spawn("stubborn", || Stubborn).unwrap();
    stubborn.wait().tell().unwrap();
    system.settle().await;
    system.stop(&stubborn);
    system.advance(Duration::from_secs(1)).await;
    assert!(stubborn.actor_ref().has_ended());
    let errors = log.errors();
    assert!(errors.iter().any(|text| text.contains("panicked while it was dropped")), "{errors:?}");
}

/// Rule 10.2.
#[supervise::test]
async fn the_causes_of_an_error_are_logged_up_to_a_number(system: &TestSystem) {
    /// Its cause is itself. Its text is a different one each time, because a line contains no text twice.
    #[derive(Debug, Default)]
    struct Circle(std::sync::atomic::AtomicU32);

    impl std::fmt::Display for Circle {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let written = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert!(written < 1_000, "it goes on for ever");
            write!(f, "around {written}")
        }
    }

    impl std::error::Error for Circle {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self)
        }
    }

    #[actor]
    struct Walker;

    #[actor]
    impl Walker {
        #[handler]
        fn walk(&mut self) -> Result<(), Circle> {
            Err(Circle::default())
        }
    }

    system.allow_failures();
    let log = Log::open();
    let walker = system.spawn("walker", || Walker).unwrap();
    walker.walk().tell().unwrap();
    system.settle().await;
    let errors = log.errors();
    let [said] = &*errors else { panic!("{errors:?}") };
    assert_eq!(said.matches("around").count(), 33, "the error and 32 causes: {said}");
    assert!(said.contains(": and further causes (only the first 32 are written)"), "{said}");
}

/// Rule 10.1.
#[supervise::test]
async fn a_message_that_failed_each_time_is_a_warning_with_its_failure(system: &TestSystem) {
    #[actor]
    struct Writer;

    #[actor]
    impl Writer {
        #[handler(redeliver = 1)]
        fn write(&mut self) -> Result<(), Rejected> {
            Err(Rejected)
        }
    }

    system.allow_failures();
    let log = Log::open();
    let writer = system.spawn("writer", || Writer).unwrap();
    writer.write().tell().unwrap();
    let letter = system.expect_dead_letter(&writer).await;
    assert_eq!(letter.reason, DeadLetterReason::Quarantined);
    let warnings = log.warnings();
    let [said] = &*warnings else { panic!("{warnings:?}") };
    for word in ["letter=\"Write\"", "at every delivery: password rejected", "deliveries=2", "permitted=2"] {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}

/// Rules 4.8, 10.1.
#[supervise::test]
async fn a_message_whose_actor_stops_before_the_next_delivery_names_both_counts(system: &TestSystem) {
    #[actor]
    #[supervise(one_for_one(backoff(min = "10s", max = "10s")), on(_) = Restart)]
    struct Office;

    #[actor]
    impl Office {
        #[handler]
        fn open(&mut self, ctx: &mut Context<Self>) -> Result<WriterRef, SpawnError> {
            ctx.spawn("writer", || Writer)
        }
    }

    #[actor]
    struct Writer;

    #[actor]
    impl Writer {
        #[handler(redeliver = 5)]
        fn write(&mut self) -> Result<(), Rejected> {
            Err(Rejected)
        }
    }

    system.allow_failures();
    let log = Log::open();
    let office = system.spawn("office", || Office).unwrap();
    let writer = office.open().await.unwrap();
    writer.write().tell().unwrap();
    system.settle().await;
    system.stop(&office);
    let letter = system.expect_dead_letter(&writer).await;
    assert_eq!((letter.reason, letter.deliveries, letter.permitted), (DeadLetterReason::Quarantined, 1, 6));
    let warnings = log.warnings();
    let [said] = &*warnings else { panic!("{warnings:?}") };
    let expected = "a message failed at 1 delivery of 6, and its actor stopped before the next: password rejected";
    for words in [expected, "deliveries=1", "permitted=6"] {
        assert!(said.contains(words), "`{words}` is not in: {said}");
    }
}

/// A program can wait for the task that records events. Rule 10.3.
#[tokio::test]
async fn the_events_end_with_their_system() {
    let system = ActorSystem::new("short");
    let mut events = system.events().subscribe();
    let mut last = None;
    system.terminate().await;
    while let Some(event) = events.recv().await {
        last = Some(event);
    }
    assert!(matches!(last, Some(Event::Stopped { actor, .. }) if actor.to_string() == "supervise://short/"));
    assert!(system.events().subscribe().recv().await.is_none(), "for those who come later too");
}

/// Rules 10.2, 13.8.
#[supervise::test]
async fn a_pool_that_has_lost_its_workers_says_so_and_why(system: &TestSystem) {
    #[actor]
    struct Writer;

    #[actor]
    impl Writer {
        #[pre_start]
        fn connect(&self) -> Result<(), Rejected> {
            Err(Rejected)
        }
    }

    system.allow_failures();
    let log = Log::open();
    let pool =
        supervise::pattern::Pool::round_robin(2, || Writer).supervised_by::<supervise::StoppingTable>().props();
    let pool = system.spawn_with("writers", pool).unwrap();
    system.expect_terminated(&pool).await;
    let errors = log.errors();
    let said: Vec<_> = errors.iter().filter(|line| line.contains("so the pool stops")).collect();
    let [said] = &*said else { panic!("{errors:?}") };
    for words in ["the last worker of the pool writers was given up", "password rejected", "/user/writers"] {
        assert!(said.contains(words), "`{words}` is not in: {said}");
    }
}
