//! BKS, BKF: what happens to messages, with a child and without one.

use std::time::Duration;

use supervise::pattern::BackoffSupervisor;
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Directive, Envelope, Event, MailboxKind, Overflow, Props, SendErrorReason};
use tokio::time::Instant;

use super::{Child, ChildMessage, Seen, boom, child, count, delays, on_failure, on_stop, start};

/// Rule 13.1.
#[supervise::test]
async fn bks_02_bkf_01_messages_go_to_the_child_with_their_reply_slots(system: &TestSystem) {
    for (name, options) in [("on_stop", on_stop as fn(&_) -> _), ("on_failure", on_failure)] {
        let probe = system.probe();
        let supervisor = system.spawn_with(name, options(&probe).props()).unwrap();
        supervisor.hear("hello").tell().unwrap();
        probe.expect(Seen::Made).await;
        probe.expect(Seen::Heard("hello")).await;
        assert_eq!(supervisor.echo("hello").await.unwrap(), "hello");
    }
}

/// Rule 13.6.
#[supervise::test]
async fn bks_06_bkf_04_a_constant_reply_while_there_is_no_child(system: &TestSystem) {
    let probe = system.probe();
    let closed = |message: Envelope<ChildMessage>| {
        if let (ChildMessage::Echo { .. }, reply) = message.into_parts() {
            reply.answer("closed");
        }
    };
    let on_stop = on_stop(&probe).stopping().while_stopped(closed).props();
    let on_stop = system.spawn_with("on_stop", on_stop).unwrap();
    probe.expect(Seen::Made).await;
    let on_failure = system.spawn_with("on_failure", on_failure(&probe).while_stopped(closed).props()).unwrap();
    probe.expect(Seen::Made).await;
    for supervisor in [on_stop, on_failure] {
        boom(system, &supervisor).await;
        assert_eq!(supervisor.echo("hello").await.unwrap(), "closed");
        assert!(matches!(supervisor.hear("hello").await, Err(AskError::Unanswered)), "the handler dropped it");
        probe.expect(Seen::Made).await;
        assert_eq!(supervisor.echo("hello").await.unwrap(), "hello");
    }
}

/// Rule 13.6.
#[supervise::test]
async fn bkf_05_another_actor_answers_while_there_is_no_child(system: &TestSystem) {
    let probe = system.probe();
    let elsewhere = system.probe();
    let handle = elsewhere.handle();
    let substitute = system.spawn("substitute", move || Child { probe: handle.clone() }).unwrap();
    let supervisor = start(system, on_failure(&probe).replaced_by(&substitute), &probe).await;
    boom(system, &supervisor).await;
    assert_eq!(supervisor.echo("hello").await.unwrap(), "hello");
    supervisor.hear("hello").await.unwrap();
    elsewhere.expect(Seen::Heard("hello")).await;
    probe.expect(Seen::Made).await;
    supervisor.hear("welcome back").await.unwrap();
    probe.expect(Seen::Heard("welcome back")).await;
    elsewhere.expect_none().await;
}

/// Rule 13.6.
#[supervise::test]
async fn bkf_06_without_an_answer_a_message_is_a_dead_letter(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe), &probe).await;
    boom(system, &supervisor).await;
    assert!(matches!(supervisor.echo("hello").await, Err(AskError::Stopped)));
    assert_eq!(system.expect_dead_letter(&supervisor).await.message, "Echo");
}

/// Rule 13.6.
#[supervise::test]
async fn bks_08_after_the_final_message_the_supervisor_stops_with_its_child(system: &TestSystem) {
    let probe = system.probe();
    let options = on_stop(&probe).final_stop(|message| matches!(message.message(), ChildMessage::Finish));
    let supervisor = start(system, options, &probe).await;
    supervisor.finish().await.unwrap();
    system.expect_terminated(&supervisor).await;
    probe.expect_none().await;
}

/// Rule 13.6.
#[supervise::test]
async fn bks_09_bks_10_without_a_child_the_final_message_stops_the_supervisor(system: &TestSystem) {
    let probe = system.probe();
    let options = on_stop(&probe).final_stop(|message| matches!(message.message(), ChildMessage::Finish));
    let supervisor = start(system, options, &probe).await;
    let first = child(&supervisor).await;
    first.actor_ref().kill();
    assert_eq!(system.expect_decision(&first).await.directive, Directive::Stop);
    supervisor.hear("ping").tell().unwrap();
    assert_eq!(system.expect_dead_letter(&supervisor).await.message, "Hear");
    system.advance(Duration::from_millis(20)).await;
    assert!(!supervisor.actor_ref().has_ended());
    // Any dead letter but the one above would fail the test.
    assert!(matches!(supervisor.finish().await, Err(AskError::Stopped)));
    system.expect_terminated(&supervisor).await;
}

/// Rule 13.6.
#[supervise::test]
async fn the_supervisor_can_be_asked_while_its_child_is_dying(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_stop(&probe), &probe).await;
    let dying = child(&supervisor).await;
    supervisor.dawdle().tell().unwrap();
    system.settle().await;
    dying.actor_ref().stop();
    assert_eq!(child(&supervisor).await, dying);
    assert_eq!(count(&supervisor).await, 0);
    supervisor.hear("too late").tell().unwrap();
    system.expect_terminated(&dying).await;
    assert_eq!(system.expect_dead_letter(&dying).await.message, "Hear");
    assert_eq!(count(&supervisor).await, 1);
}

/// Rule 13.1.
#[supervise::test]
async fn a_full_child_holds_up_the_senders_of_its_supervisor(system: &TestSystem) {
    let probe = system.probe::<Seen>();
    let handle = probe.handle();
    let bounded = MailboxKind::Bounded { capacity: 1, overflow: Overflow::Fail };
    let template = move || {
        let probe = handle.clone();
        Props::new(move || Child { probe: probe.clone() }).mailbox(bounded)
    };
    let supervisor =
        system.spawn_with("supervisor", BackoffSupervisor::on_stop("c1", template, delays()).props()).unwrap();
    supervisor.dawdle().tell().unwrap();
    // One waits with the child, one is being passed on, one waits with the supervisor.
    for text in ["one", "two", "three"] {
        system.settle().await;
        supervisor.hear(text).tell().unwrap();
    }
    system.settle().await;
    assert_eq!(supervisor.hear("four").tell().unwrap_err().reason(), SendErrorReason::MailboxFull);
    let begun = Instant::now();
    supervisor.actor_ref().stop();
    system.expect_terminated(&supervisor).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(5), "the child's stop timeout, not the supervisor's too");
    let lost = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    assert_eq!(lost.len(), 3);
}
