//! Invalid commands for the store, limits that are reached, and values that misbehave.
//!
//! Rules 27.9, 27.11, 27.15 and 27.17.

use std::time::Duration;

use supervise::Event;
use supervise::durable::{MemoryStore, MessageId, MessageStore, Seq};
use supervise::prelude::*;
use supervise::testkit::{Crash, Fault, TestSystem};
use supervise::{Directive, Strategy};

use crate::orders::{Does, Orders, OrdersMessage, World, order, that};

/// Waits at the gate, with stored messages and with others.
#[actor(mailbox = durable(capacity = 3, window = 8))]
struct Busy {
    world: World,
}

#[actor]
impl Busy {
    #[handler]
    async fn place(&mut self, number: u32, _body: Vec<u8>) {
        self.world.gate.notified().await;
        self.world.note(number);
    }

    #[handler(transient)]
    async fn wait(&mut self) {
        self.world.gate.notified().await;
    }
}

fn busy(system: &TestSystem, world: &World) -> BusyRef {
    let world = world.clone();
    system.spawn("busy", move || Busy { world: world.clone() }).expect("the name is free")
}

async fn retry_what_is_not_in_quarantine(system: &TestSystem) {
    let row = &system.store().queues().await.expect("the store works")[0];
    let id = MessageId { queue: row.queue, seq: Seq(77) };
    system.store().retry(id).await.expect("it is not an error");
    system.settle().await;
}

#[supervise::test]
async fn dur_01_a_retry_of_what_is_not_in_quarantine_loses_no_message(system: &TestSystem) {
    let world = World::default();
    let actor = busy(system, &world);
    actor.place(1, Vec::new()).accepted().await.expect("the store works");
    system.settle().await;
    retry_what_is_not_in_quarantine(system).await;
    world.gate.notify_one();
    system.settle().await;
    actor.wait().tell().expect("there is room");
    system.settle().await;
    actor.place(2, Vec::new()).accepted().await.expect("the store works");
    let next = system.crash(Crash::Process).await;
    let _actor = busy(&next, &world);
    next.settle().await;
    world.gate.notify_one();
    next.settle().await;
    assert_eq!(world.begun(), [1, 2]);
}

#[supervise::test]
async fn a_retry_of_what_is_not_in_quarantine_takes_no_room(system: &TestSystem) {
    let world = World::default();
    let actor = busy(system, &world);
    for _ in 0..3 {
        retry_what_is_not_in_quarantine(system).await;
    }
    let accepted = tokio::time::timeout(Duration::from_secs(1), actor.place(1, Vec::new()).accepted()).await;
    assert_eq!(accepted, Ok(Ok(())));
    world.gate.notify_one();
    system.settle().await;
    assert_eq!(world.begun(), [1]);
}

#[supervise::test]
async fn dur_34_a_sender_waits_for_room_for_its_bytes_without_work(system: &TestSystem) {
    let world = World::default();
    let actor = busy(system, &world);
    system.settle().await;
    system.store().hold();
    actor.place(1, vec![0; 9 << 20]).tell().expect("a large one is let in alone");
    let sender = actor.clone();
    let accepted = tokio::spawn(async move { sender.place(2, vec![0; 9]).accepted().await });
    // The writer does not loop without waiting. Otherwise the clock would stand still.
    system.advance(Duration::from_secs(1)).await;
    assert!(!accepted.is_finished());
    system.store().release();
    system.settle().await;
    assert!(accepted.await.expect("no panic").is_ok());
    for _ in 0..2 {
        world.gate.notify_one();
        system.settle().await;
    }
    assert_eq!(world.begun(), [1, 2]);
}

#[supervise::test]
async fn dur_16_a_stop_is_no_crash(system: &TestSystem) {
    let world = World::default();
    let parent = world.under(system, (Strategy::one_for_one(), Directive::Stop));
    let orders = parent.orders().await.expect("it has started");
    orders.place(that(1, Does::Fail(1))).tell().expect("there is room");
    system.expect_terminated(&orders).await;
    system.expect_kept("/user/parent/orders").await;
    parent.again().await.expect("the name is free").expect("the queue too");
    system.settle().await;
    let seen = world.seen();
    assert_eq!((seen.len(), seen[1].attempt, seen[1].after_crash), (2, 2, false), "no process died: {seen:?}");
    system.allow_failures();
}

#[supervise::test]
async fn dur_25_a_queue_is_not_renamed_to_one_that_has_messages_and_the_error_says_so(system: &TestSystem) {
    let world = World::default();
    for name in ["old", "new"] {
        let orders = world.spawn_as(system, name);
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
        system.settle().await;
        orders.actor_ref().stop();
        system.advance(Duration::from_secs(6)).await;
        system.expect_terminated(&orders).await;
    }
    system.take_all(|event| matches!(event, Event::Kept { .. })).await;
    system.store().rename("/user/old", "/user/new").await.expect_err("it has a message");
    system.store().rename("/user/nobody", "/user/other").await.expect_err("no queue has this name");
    system.store().rename("/user/old", "").await.expect_err("nobody would find its message");
    system.store().discard_queue("/user/nobody").await.expect_err("no queue has this name");
    let rows = system.store().queues().await.expect("the store works");
    assert_eq!(rows.iter().map(|row| row.waiting).collect::<Vec<_>>(), [1, 1]);
}

#[supervise::test]
async fn dur_28_what_was_stored_although_nobody_knew_counts(system: &TestSystem) {
    let world = World::default();
    let actor = busy(system, &world);
    actor.place(1, Vec::new()).accepted().await.expect("the store works");
    system.settle().await;
    system.store().fail(Fault::Sync);
    actor.place(2, Vec::new()).accepted().await.expect_err("nobody knows");
    system.advance(Duration::from_secs(2)).await;
    actor.place(3, Vec::new()).tell().expect("there is room for one more");
    actor.place(4, Vec::new()).tell().expect_err("three wait");
    actor.actor_ref().stop();
    system.settle().await;
    world.gate.notify_one();
    system.expect_terminated(&actor).await;
    assert_eq!(system.expect_kept("/user/busy").await, 2);
}

/// A system that never had the store changes nothing in it when it ends.
#[test]
fn a_system_that_could_not_open_a_store_leaves_it_alone() {
    let (mut store, world) = (MemoryStore::new(), World::default());
    let runtime = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime can be made")
    };
    let start = |name: &str, store: &MemoryStore| {
        ActorSystem::builder(name).store(store.clone()).start().expect("the name is valid")
    };
    runtime().block_on(async {
        let first = start("shop", &store);
        let one = world.clone();
        let orders = first.spawn("orders", move || Orders::new(&one)).expect("the name is free");
        orders.place(that(1, Does::Hang)).accepted().await.expect("the store works");
        tokio::time::sleep(Duration::from_secs(1)).await;
        let late = start("late", &store);
        late.store().ready().await.expect_err("the first one has it");
        late.terminate().await;
    });
    let opened = runtime().block_on(store.open(&supervise::durable::Owner::new("shop")));
    assert_eq!(opened.expect("it is free").ended, supervise::durable::Ended::ProcessDied);
}

/// Its claim and its release come together, and others between them.
#[supervise::test]
async fn dur_19_an_actor_that_ends_before_its_queue_is_claimed_leaves_its_messages(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    let next = system.crash(Crash::Power).await;
    let other = world.spawn_as(&next, "other");
    next.settle().await;
    next.store().hold();
    other.place(order(3)).tell().expect("there is room");
    next.settle().await;
    let orders = world.spawn(&next);
    let _third = world.spawn_as(&next, "third");
    orders.actor_ref().stop();
    next.expect_terminated(&orders).await;
    drop(orders);
    next.store().release();
    next.settle().await;
    assert_eq!(next.expect_kept("/user/orders").await, 2);
    world.gate.notify_one();
    world.spawn(&next);
    next.settle().await;
    assert_eq!(world.begun(), [1, 3, 1, 2]);
}

/// The store is down when the writer looks for queues without an actor.
#[supervise::test]
async fn a_queue_without_an_actor_is_named_after_an_outage(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn_as(system, "moved");
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    let next = system.crash(Crash::Process).await;
    next.advance(Duration::from_secs(29)).await;
    next.store().fail(Fault::Down);
    next.advance(Duration::from_secs(5)).await;
    next.store().release();
    next.advance(Duration::from_secs(60)).await;
    let named = next.take_all(|event| matches!(event, Event::QueueUnowned { .. })).await;
    assert_eq!(named.len(), 1, "{named:?}");
}

/// Its actor has another path since the last release.
#[supervise::test]
async fn a_queue_with_messages_and_without_an_actor_is_named(system: &TestSystem) {
    let world = World::default();
    for name in ["here", "moved"] {
        let orders = world.spawn_as(system, name);
        orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    }
    let next = system.crash(Crash::Process).await;
    world.spawn_as(&next, "here");
    next.store()
        .sender::<Orders>("/user/empty")
        .accepted(OrdersMessage::Place { order: order(1) })
        .await
        .expect("it works");
    next.store().discard_queue("/user/empty").await.expect("nobody owns it");
    let named = async || next.take_all(|event| matches!(event, Event::QueueUnowned { .. })).await;
    next.advance(Duration::from_secs(29)).await;
    assert_eq!(named().await.len(), 0, "perhaps its actor comes late");
    next.advance(Duration::from_secs(2)).await;
    let named = named().await;
    let [Event::QueueUnowned { queue, messages: 1, .. }] = &named[..] else { panic!("{named:?}") };
    assert_eq!(**queue, *"/user/moved");
}
