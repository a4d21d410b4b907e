//! DLT: messages that reach nobody.

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{DeadLetterReason, Event, ShutdownSettings};
use tracing::Level;

use crate::fixture::{PingPong, PingPongRef, ms, secs};
use crate::log::Log;

async fn ended(system: &TestSystem) -> PingPongRef {
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    system.stop(&actor);
    system.expect_terminated(&actor).await;
    actor
}

/// Suppressed is what the runtime itself sends: that a poison pill or a stop request finds nobody is no loss.
/// Rule 10.1.
#[supervise::test]
async fn dlt_01_what_the_runtime_sends_itself_is_no_dead_letter(system: &TestSystem) {
    let actor = ended(system).await;
    actor.actor_ref().poison();
    actor.actor_ref().stop();
    let refused = actor.ping().tell().unwrap_err();
    actor.actor_ref().kill();
    assert_eq!(refused.reason(), supervise::SendErrorReason::Stopped);
    let letters = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    let messages: Vec<_> = letters
        .iter()
        .filter_map(|event| match event {
            Event::DeadLetter(letter) => Some((letter.message, letter.reason)),
            _ => None,
        })
        .collect();
    assert_eq!(messages, [("Ping", DeadLetterReason::Stopped), ("Kill", DeadLetterReason::Stopped)]);
}

/// There is no sender to tell: recipient, message and reason are what is said, asked or told.
/// Rules 1.7, 10.1.
#[supervise::test]
async fn dlt_03_dlt_04_a_dead_letter_is_logged_as_information(system: &TestSystem) {
    let log = Log::open();
    let actor = ended(system).await;
    assert!(actor.ping().tell().is_err());
    assert!(matches!(actor.ping().await, Err(AskError::Stopped)));
    let said = log.at(Level::INFO);
    assert_eq!(said.len(), 2, "{said:?}");
    for text in said {
        assert!(
            text.contains("reached nobody") && text.contains("/user/actor") && text.contains("Ping"),
            "{text}"
        );
    }
    system.expect_dead_letter(&actor).await;
    system.expect_dead_letter(&actor).await;
}

/// Takes its time to end, so that others are gone before the system is.
#[actor]
struct Slow;

#[actor]
impl Slow {
    #[post_stop]
    async fn stop(&mut self) {
        tokio::time::sleep(secs(1)).await;
    }
}

/// Rule 10.1.
#[supervise::test]
async fn dlt_07_dead_letters_are_logged_while_the_system_ends(system: &TestSystem) {
    let log = Log::open();
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    system.spawn("slow", || Slow).unwrap();
    system.settle().await;
    let ((), ()) = tokio::join!(system.terminate(), async {
        tokio::time::sleep(ms(500)).await;
        assert!(actor.ping().tell().is_err());
    });
    assert_eq!(log.at(Level::INFO).len(), 1);
    system.expect_dead_letter(&actor).await;
}

/// Rules 10.1, 16.2.
#[test]
fn dlt_08_dlt_09_a_shutdown_that_leaves_the_system_running_silences_nothing() {
    let shutdown = ShutdownSettings::new().leave_system_running().terminate_directly();
    testkit::run_with(ActorSystem::builder("test").coordinated_shutdown(shutdown), async |system: &TestSystem| {
        let log = Log::open();
        let actor = ended(system).await;
        let shutdown = system.coordinated_shutdown();
        shutdown
            .add_task("before-service-unbind", "send", {
                let actor = actor.clone();
                async move {
                    assert!(actor.ping().tell().is_err());
                    Ok::<(), std::convert::Infallible>(())
                }
            })
            .unwrap();
        shutdown.run("maintenance").await.unwrap();
        assert!(!system.has_terminated());
        assert_eq!(log.at(Level::INFO).iter().filter(|said| said.contains("reached nobody")).count(), 1);
        assert!(actor.ping().tell().is_err());
        assert_eq!(
            log.at(Level::INFO).iter().filter(|said| said.contains("reached nobody")).count(),
            2,
            "and afterwards"
        );
        system.expect_dead_letter(&actor).await;
        system.expect_dead_letter(&actor).await;
    });
}
