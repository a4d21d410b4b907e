//! Actors that have ended, are ending, or have another type than the caller expects.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Answer, MailboxKind, Overflow, Props, SendErrorReason, SpawnError};

use crate::{Modest, ModestRef};

#[supervise::test]
async fn an_ended_actor_gives_messages_back_and_takes_the_rest_quietly(system: &TestSystem) {
    system.allow_dead_letters();
    let actor = system.spawn("actor", Modest::new).unwrap();
    system.stop(&actor);
    system.ended(&actor).await;
    for _ in 0..3 {
        assert_eq!(actor.count().tell().unwrap_err().reason(), SendErrorReason::Stopped);
        assert!(matches!(actor.count().await, Err(AskError::Stopped)));
        assert!(actor.count().send().await.is_err());
        actor.actor_ref().stop();
        actor.actor_ref().kill();
        actor.actor_ref().poison();
    }
}

#[supervise::test]
async fn a_ref_is_not_taken_for_another_type(system: &TestSystem) {
    let actor = system.spawn("actor", Modest::new).unwrap();
    let any = system.find("/user/actor").unwrap();
    assert!(any.downcast::<Late>().is_none());
    assert_eq!(any.downcast::<Modest>().as_ref(), Some(actor.actor_ref()));
    assert!(system.select("/user/*").unwrap().of::<Late>().identify().is_empty());
}

#[supervise::test]
async fn a_system_that_ends_or_has_ended_spawns_nobody(system: &TestSystem) {
    let actor = system.spawn("actor", Modest::new).unwrap();
    let hung = actor.hang().ask().unwrap();
    system.settle().await;
    let end = system.terminate();
    let mut end = std::pin::pin!(end);
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut end).await.is_err(), "it waits for the handler");
    for _ in 0..2 {
        let error = system.spawn("late", Modest::new).unwrap_err();
        assert!(matches!(error, SpawnError::Stopping { .. }), "{error}");
        assert!(error.to_string().contains("it is stopping"), "{error}");
        end.as_mut().await;
        end.set(system.terminate());
    }
    assert!(matches!(hung.await, Err(AskError::Stopped)));
}

/// Spawns when it is too late.
#[actor]
struct Late {
    told: ProbeHandle<String>,
}

#[actor]
impl Late {
    #[handler]
    async fn hire(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
        ctx.stopping().await;
        // The stop waits for this handler, so this child is stopped with the others.
        self.note(&ctx.spawn("in-time", Modest::new));
    }

    #[post_stop]
    fn leave(&mut self, ctx: &mut Context<Self>) {
        self.note(&ctx.spawn("too-late", Modest::new));
    }
}

impl Late {
    fn note(&self, spawned: &Result<ModestRef, SpawnError>) {
        self.told
            .note(spawned.as_ref().map_or_else(ToString::to_string, |child| child.actor_ref().path().to_string()));
    }
}

#[supervise::test]
async fn an_actor_that_ends_spawns_nobody(system: &TestSystem) {
    let probe = system.probe();
    let told = probe.handle();
    let late = system.spawn("late", move || Late { told: told.clone() }).unwrap();
    late.hire().tell().unwrap();
    system.ended(&late).await;
    assert_eq!(
        probe.all().await,
        ["supervise://test/user/late/in-time", "cannot spawn under supervise://test/user/late: it is stopping"]
    );
}

/// An actor that handles a message for ever, and whose mailbox is full with one other message.
async fn full(system: &TestSystem, overflow: Overflow) -> (ModestRef, Answer<u64>) {
    system.allow_dead_letters();
    let kind = MailboxKind::Bounded { capacity: 1, overflow };
    let actor = system.spawn_with("actor", Props::new(Modest::new).mailbox(kind)).unwrap();
    actor.hang().tell().unwrap();
    system.settle().await;
    let waits = actor.count().ask().unwrap();
    (actor, waits)
}

#[supervise::test]
async fn a_full_mailbox_that_fails_says_so(system: &TestSystem) {
    let (actor, _waits) = full(system, Overflow::Fail).await;
    assert_eq!(actor.count().tell().unwrap_err().reason(), SendErrorReason::MailboxFull);
    assert!(matches!(actor.count().await, Err(AskError::MailboxFull)));
}

#[supervise::test]
async fn a_full_mailbox_that_drops_says_so(system: &TestSystem) {
    let (actor, _waits) = full(system, Overflow::DropNewest).await;
    let dropped = actor.count().await;
    assert!(matches!(dropped, Err(AskError::MailboxFull)), "{dropped:?}");
}

#[supervise::test]
async fn whom_a_full_mailbox_drops_gets_an_answer_at_once(system: &TestSystem) {
    let (actor, waits) = full(system, Overflow::DropOldest).await;
    actor.count().tell().unwrap();
    assert!(waits.await.is_err());
}
