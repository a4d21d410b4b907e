//! DLT: messages that reach no handler.

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

/// A poison pill or a stop request that reaches nobody is not a dead letter, because nothing is lost.
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

/// There is no sender to name, so the line names the recipient, the message and the reason. An asker gets an error
/// instead of a line. Rules 1.7, 10.1, 10.4.
#[supervise::test]
async fn dlt_03_dlt_04_a_dead_letter_is_logged_as_information(system: &TestSystem) {
    let log = Log::open();
    let actor = ended(system).await;
    assert!(actor.ping().tell().is_err());
    assert!(matches!(actor.ping().await, Err(AskError::Stopped)));
    for level in [Level::INFO, Level::DEBUG] {
        let said = reached_nobody(&log, level);
        let [said] = &said[..] else { panic!("{said:?}") };
        assert!(said.contains("/user/actor") && said.contains("Ping"), "{said}");
    }
    system.expect_dead_letter(&actor).await;
    system.expect_dead_letter(&actor).await;
}

fn reached_nobody(log: &Log, level: Level) -> Vec<String> {
    log.at(level).into_iter().filter(|said| said.contains("a message became a dead letter")).collect()
}

/// The lines about dead letters as a whole.
fn summaries(log: &Log) -> Vec<String> {
    let is_summary = |said: &String| said.contains("dead letters") || said.contains("1 dead letter ");
    log.at(Level::INFO).into_iter().filter(is_summary).collect()
}

/// Rule 10.4.
#[supervise::test]
async fn s24_ten_dead_letters_have_a_line_and_the_others_are_counted(system: &TestSystem) {
    let log = Log::open();
    let actor = ended(system).await;
    let lose = |messages: usize| (0..messages).for_each(|_| assert!(actor.ping().tell().is_err()));
    lose(9);
    assert_eq!((reached_nobody(&log, Level::INFO).len(), summaries(&log).len()), (9, 0));
    lose(1_000);
    assert_eq!(reached_nobody(&log, Level::INFO).len(), 10);
    assert_eq!(reached_nobody(&log, Level::DEBUG).len(), 999);
    let [pause] = &summaries(&log)[..] else { panic!("{:?}", summaries(&log)) };
    assert!(pause.contains("10 dead letters within 5 min"), "{pause}");
    system.advance(secs(299)).await;
    lose(1);
    assert_eq!(reached_nobody(&log, Level::INFO).len(), 10);
    system.advance(secs(1)).await;
    lose(1);
    assert_eq!(reached_nobody(&log, Level::INFO).len(), 11);
    let [_, missed] = &summaries(&log)[..] else { panic!("{:?}", summaries(&log)) };
    assert!(missed.contains("1000 dead letters"), "{missed}");
    // The event stream has one event for each.
    let letters = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    assert_eq!(letters.len(), 9 + 1_000 + 1 + 1);
    lose(10);
    assert_eq!(system.take_all(|event| matches!(event, Event::DeadLetter(_))).await.len(), 10);
    system.terminate().await;
    let said = summaries(&log);
    assert_eq!(said.len(), 4, "another pause, and what it left out");
    assert!(said[3].contains("message=1 dead letter was logged"), "{}", said[3]);
}

/// A message that is left in a mailbox counts like one that comes too late. Rule 10.4.
#[supervise::test]
async fn s24_an_ask_that_is_answered_by_its_actors_end_has_no_line(system: &TestSystem) {
    let log = Log::open();
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    let asked = actor.ping().ask().unwrap();
    drop(actor.ping().ask().unwrap());
    actor.ping().tell().unwrap();
    system.stop(&actor);
    assert!(matches!(asked.await, Err(AskError::Stopped)));
    assert_eq!(reached_nobody(&log, Level::INFO).len(), 2, "one was told, and one has nobody who waits");
    assert_eq!(reached_nobody(&log, Level::DEBUG).len(), 1);
    system.allow_dead_letters();
}

/// Takes some time to end, so that others end before the system does.
#[actor]
struct Slow;

#[actor]
impl Slow {
    #[post_stop]
    async fn stop(&mut self) {
        tokio::time::sleep(secs(1)).await;
    }
}

/// Rules 10.1, 10.4.
#[supervise::test]
async fn dlt_07_dead_letters_are_counted_while_the_system_ends(system: &TestSystem) {
    let log = Log::open();
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    system.spawn("slow", || Slow).unwrap();
    system.settle().await;
    let ((), ()) = tokio::join!(system.terminate(), async {
        tokio::time::sleep(ms(500)).await;
        assert!(actor.ping().tell().is_err());
        assert!(actor.ping().tell().is_err());
    });
    assert_eq!(reached_nobody(&log, Level::DEBUG).len(), 2);
    let [said] = &log.at(Level::INFO)[..] else { panic!("{:?}", log.at(Level::INFO)) };
    assert!(said.contains("2 dead letters"), "{said}");
    system.allow_dead_letters();
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
        assert_eq!(log.at(Level::INFO).iter().filter(|said| said.contains("dead letter")).count(), 1);
        assert!(actor.ping().tell().is_err());
        assert_eq!(
            log.at(Level::INFO).iter().filter(|said| said.contains("dead letter")).count(),
            2,
            "and afterwards"
        );
        system.expect_dead_letter(&actor).await;
        system.expect_dead_letter(&actor).await;
    });
}
