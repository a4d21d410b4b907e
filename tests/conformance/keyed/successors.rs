//! KEY: messages for a child that is ending wait for its successor.
//!
//! Rules 18.3 to 18.5.

use std::time::Duration;

use supervise::testkit::TestSystem;
use supervise::{HowEnded, MailboxKind, Overflow, SendErrorReason};
use tokio::time::Instant;

use super::{Common, customers, open};

/// Rules 18.3, 18.4.
#[supervise::test]
async fn key_05_what_arrives_during_a_passivation_waits_for_the_successor_in_order(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe).last_words(Duration::from_secs(10))).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.order(1).tell().unwrap();
    sessions.passivate(&1);
    session.order(2).tell().unwrap();
    let answer = session.order(3).ask().unwrap();
    system.advance(Duration::from_secs(5)).await;
    // A second passivation of one that is being passivated changes nothing, and so does a stop.
    sessions.passivate(&1);
    session.actor_ref().stop();
    session.order(4).tell().unwrap();
    sessions.get_or_spawn(1).unwrap().order(5).tell().unwrap();
    assert_eq!(sessions.get(&1), None, "it is ending");
    assert_eq!(probe.next().await, "1.1 1");
    assert_eq!(answer.await.unwrap(), 2);
    session.order(6).tell().unwrap();
    for expected in ["1.1 stops", "1.2 2", "1.2 3", "1.2 4", "1.2 5", "1.2 6"] {
        assert_eq!(probe.next().await, expected);
    }
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions.get(&1).unwrap().actor_ref().path(), session.actor_ref().path());
}

/// Rule 18.4.
#[supervise::test]
async fn key_06_a_kept_ref_brings_back_the_child_of_its_key(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    let first = sessions.get_or_spawn(1).unwrap();
    sessions.passivate(&1);
    system.expect_terminated(&first).await;
    assert!(sessions.is_empty());
    assert_eq!(first.order(1).await.unwrap(), 2);
    let second = sessions.get(&1).unwrap();
    sessions.passivate(&1);
    system.expect_terminated(&second).await;
    let third = sessions.get_or_spawn(1).unwrap();
    for session in [&first, &second, &third] {
        assert_eq!(session.order(2).await.unwrap(), 3, "all of them reach the one that is there");
        session.order(3).send().await.unwrap();
    }
    assert_eq!(sessions.len(), 1);
    system.settle().await;
}

/// Rule 18.5.
#[supervise::test]
async fn key_07_a_stopped_child_leaves_its_entry_free(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe).last_words(Duration::from_secs(10))).await;
    let first = sessions.get_or_spawn(1).unwrap();
    first.think(Duration::from_secs(1)).tell().unwrap();
    first.order(1).tell().unwrap();
    system.settle().await;
    first.actor_ref().stop();
    system.advance(Duration::from_secs(5)).await;
    assert_eq!(sessions.get(&1), None);
    assert_eq!(sessions.len(), 1);
    system.advance(Duration::from_secs(10)).await;
    assert_eq!(probe.next().await, "1.1 stops");
    assert_eq!(system.expect_dead_letter(&first).await.message, "Order");
    assert!(sessions.is_empty());
    assert_eq!(first.order(2).tell().unwrap_err().reason(), SendErrorReason::Stopped);
    assert_eq!(system.expect_dead_letter(&first).await.message, "Order");
    let second = sessions.get_or_spawn(1).unwrap();
    assert_eq!(second.order(3).await.unwrap(), 2);

    // Between the end and the moment when the key is free.
    second.actor_ref().stop();
    system.ended(&second).await;
    drop(second.order(4).tell());
    assert_eq!(system.expect_dead_letter(&second).await.message, "Order");
    assert!(sessions.is_empty(), "nobody has asked for the child of this key");
}

/// Rule 18.5.
#[supervise::test]
async fn key_08_who_asks_for_a_child_that_is_being_stopped_gets_its_successor(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe).last_words(Duration::from_secs(10))).await;
    for by_itself in [false, true] {
        let first = sessions.get_or_spawn(1).unwrap();
        let before = first.order(1).await.unwrap();
        if by_itself {
            first.finish().await.unwrap();
            system.settle().await;
        } else {
            first.actor_ref().stop();
        }
        let again = sessions.get_or_spawn(1).unwrap();
        assert_eq!(again.order(2).await.unwrap(), before + 1);
        assert_eq!(again.order(3).await.unwrap(), before + 1);
        assert_eq!(sessions.get_or_spawn(1).unwrap().order(4).await.unwrap(), before + 1);
    }
    // After the lane was emptied and before the parent knows.
    let last = sessions.get_or_spawn(1).unwrap();
    last.actor_ref().stop();
    system.ended(&last).await;
    assert_eq!(sessions.get_or_spawn(1).unwrap().order(5).await.unwrap(), 4);
}

/// Rule 18.3.
#[supervise::test]
async fn key_11_a_bound_holds_for_what_waits_for_the_successor(system: &TestSystem) {
    let probe = system.probe();
    let common = Common::new(&probe).last_words(Duration::from_secs(10));
    let bounded = MailboxKind::Bounded { capacity: 2, overflow: Overflow::Fail };
    let (_shop, sessions) = open(system, move || common.sessions::<u64>().mailbox(bounded)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.leave().await.unwrap();
    system.settle().await;
    session.order(1).tell().unwrap();
    session.order(2).tell().unwrap();
    assert_eq!(session.order(9).tell().unwrap_err().reason(), SendErrorReason::MailboxFull);
    let kept = session.clone();
    let waits = tokio::spawn(async move {
        kept.order(3).send().await.unwrap();
        kept.order(4).send().await.unwrap();
        kept.order(5).send().await.unwrap();
    });
    waits.await.unwrap();
    for expected in ["1.1 stops", "1.2 1", "1.2 2", "1.2 3", "1.2 4", "1.2 5"] {
        assert_eq!(probe.next().await, expected);
    }
}

/// Rule 18.3.
#[supervise::test]
async fn key_12_what_was_set_aside_goes_to_the_successor_first(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.lock().tell().unwrap();
    session.order(1).tell().unwrap();
    session.order(2).tell().unwrap();
    session.leave().tell().unwrap();
    session.order(3).tell().unwrap();
    session.think(Duration::ZERO).await.unwrap();
    system.settle().await;
    sessions.passivate(&1);
    system.settle().await;
    for expected in ["1.1 stops", "1.2 1", "1.2 2", "1.2 3", "1.2 stops"] {
        assert_eq!(probe.next().await, expected);
    }
}

/// Rule 18.3.
#[supervise::test]
async fn key_14_a_child_whose_end_hangs_is_aborted_and_succeeded(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe).last_words(Duration::MAX)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    sessions.passivate(&1);
    system.settle().await;
    let start = Instant::now();
    assert_eq!(session.order(1).await.unwrap(), 2);
    assert_eq!(start.elapsed(), Duration::from_secs(30), "the stop timeout");
    assert_eq!(system.expect_terminated(&session).await, HowEnded::Aborted);
    sessions.stop();
    system.advance(Duration::from_secs(60)).await;
}
