//! S19, S21, A6, A7: every ask resolves once, and a message that reaches no handler becomes a dead letter.

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{DeadLetterReason, Event, MailboxKind, Overflow, Props, SendErrorReason};

use super::{Worker, WorkerRef, failing, well};
use crate::fixture::{Boom, ms, secs};

/// A worker that is busy for ten seconds, with a mailbox of this capacity.
async fn busy(
    system: &TestSystem,
    name: &'static str,
    capacity: usize,
    overflow: Overflow,
    probe: &ProbeHandle<String>,
) -> WorkerRef {
    let props = Props::new(Worker::factory("worker", probe)).mailbox(MailboxKind::Bounded { capacity, overflow });
    let worker = system.spawn_with(name, props).unwrap();
    worker.work(secs(10), well()).tell().unwrap();
    system.settle().await;
    worker
}

/// Rule 1.5.
#[supervise::test]
async fn a7_a_request_that_was_never_polled_sends_nothing(system: &TestSystem) {
    let probe = system.probe();
    let worker = system.spawn("worker", Worker::factory("worker", &probe.handle())).unwrap();
    drop(worker.ping());
    let ask = std::future::IntoFuture::into_future(worker.ping());
    drop(ask);
    drop(worker.ping().timeout(secs(1)));
    probe.expect_none().await;
}

/// Rule 1.5.
#[supervise::test]
async fn a7_an_ask_that_is_dropped_is_handled_all_the_same(system: &TestSystem) {
    let probe = system.probe();
    let worker = system.spawn("worker", Worker::factory("worker", &probe.handle())).unwrap();
    drop(worker.ping().ask().unwrap());
    assert_eq!(probe.all().await, ["worker answers"]);
    let late = worker.work(secs(2), well()).timeout(secs(1)).await;
    assert!(matches!(&late, Err(AskError::Timeout(late)) if late.limit() == secs(1)), "{late:?}");
    system.advance(secs(1)).await;
    assert_eq!(probe.all().await, ["worker works", "worker is done"]);
    let failed = worker.work(secs(2), failing("late")).timeout(secs(1)).await;
    assert!(matches!(failed, Err(AskError::Timeout(_))), "{failed:?}");
    system.advance(secs(1)).await;
    system.expect_restarts(&worker, 1).await;
}

/// Rule 1.6.
#[supervise::test]
async fn a7_a_full_mailbox_answers_as_declared(system: &TestSystem) {
    for (name, overflow) in
        [("fail", Overflow::Fail), ("newest", Overflow::DropNewest), ("oldest", Overflow::DropOldest)]
    {
        let probe = system.probe();
        let worker = busy(system, name, 1, overflow, &probe.handle()).await;
        let first = worker.ping().ask().unwrap();
        let asked = async { worker.ping().await };
        let told = worker.perform(Box::new(|_| Err(Boom("never runs")))).tell();
        match overflow {
            Overflow::Fail => {
                assert_eq!(told.unwrap_err().reason(), SendErrorReason::MailboxFull);
                assert!(matches!(asked.await, Err(AskError::MailboxFull)));
                assert!(system.take_all(|event| matches!(event, Event::DeadLetter(_))).await.is_empty());
                assert_eq!(first.await.unwrap(), "pong");
            }
            Overflow::DropNewest => {
                told.unwrap();
                assert!(asked.await.is_err());
                for message in ["Perform", "Ping"] {
                    let letter = system.expect_dead_letter(&worker).await;
                    assert_eq!((letter.message, letter.reason), (message, DeadLetterReason::MailboxFull));
                }
                assert_eq!(first.await.unwrap(), "pong");
            }
            Overflow::DropOldest => {
                told.unwrap();
                assert!(first.await.is_err());
                assert_eq!(asked.await.unwrap(), "pong", "it took the place of the one before");
                for message in ["Ping", "Perform"] {
                    let letter = system.expect_dead_letter(&worker).await;
                    assert_eq!((letter.message, letter.reason), (message, DeadLetterReason::MailboxFull));
                }
            }
        }
    }
}

/// Rule 1.6.
#[supervise::test]
async fn a7_who_sends_waits_for_room_in_order_and_learns_of_the_end(system: &TestSystem) {
    let probe = system.probe();
    let worker = busy(system, "worker", 1, Overflow::Fail, &probe.handle()).await;
    let send = |seconds: u64| {
        let worker = worker.clone();
        tokio::spawn(
            async move { worker.work(secs(seconds), well()).send().await.map_err(|refused| refused.reason()) },
        )
    };
    let sends = [send(1), send(2), send(100), send(3)];
    system.advance(secs(12)).await;
    let [first, second, third, fourth] = sends;
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (Ok(()), Ok(())));
    assert!(!fourth.is_finished(), "the third waits in the mailbox, the fourth for its place");
    worker.actor_ref().stop();
    assert_eq!(third.await.unwrap(), Ok(()));
    assert_eq!(fourth.await.unwrap(), Err(SendErrorReason::Stopped));
    system.expect_terminated(&worker).await;
    system.allow_dead_letters();
}

/// The asker gets `Failed` before the parent has decided, so that it can react. Rule 1.5.
#[supervise::test]
async fn a1_the_asker_learns_of_a_failure_before_it_is_decided(system: &TestSystem) {
    let probe = system.probe();
    let worker = system.spawn("worker", Worker::factory("worker", &probe.handle())).unwrap();
    let asked = worker.work(ms(5), failing("boom")).await;
    let Err(AskError::Failed(failure)) = asked else { panic!("{asked:?}") };
    let decision = system.expect_decision(&worker).await;
    assert!(failure.is_same(&decision.failure));
    assert_eq!(failure.downcast_ref(), Some(&Boom("boom")));
}

/// Rules 1.7, 10.1.
#[supervise::test]
async fn s19_1_a_dead_letter_says_whom_it_was_for_what_it_was_and_why(system: &TestSystem) {
    let probe = system.probe();
    let worker = system.spawn("worker", Worker::factory("worker", &probe.handle())).unwrap();
    system.stop(&worker);
    system.expect_terminated(&worker).await;
    assert!(worker.ping().tell().is_err());
    assert!(matches!(worker.ping().await, Err(AskError::Stopped)));
    assert!(worker.ping().send().await.is_err());
    for _ in 0..3 {
        let letter = system.expect_dead_letter(&worker).await;
        assert_eq!(letter.recipient, worker.actor_ref().path());
        assert_eq!((letter.message, letter.reason, letter.failures.len()), ("Ping", DeadLetterReason::Stopped, 0));
    }
}
