//! Poison, stops, and the next owner of a queue.
//!
//! Rules 27.8, 27.10 and 27.11.

use supervise::durable::MemoryStore;
use supervise::prelude::*;
use supervise::testkit::{Crash, TestSystem};
use supervise::{Event, Props};

use crate::orders::{Does, Orders, World, order, that};

/// Has room for the ten thousand messages of the case.
#[actor(mailbox = durable(window = 16))]
struct Patient {
    world: World,
}

#[actor]
impl Patient {
    #[handler]
    async fn place(&mut self, number: u32) {
        if number == 0 {
            self.world.gate.notified().await;
        }
        self.world.note(number);
    }
}

#[supervise::test]
async fn dur_18_poison_comes_after_all_that_was_accepted_before_it(system: &TestSystem) {
    let world = World::default();
    let spawn = || {
        let world = world.clone();
        system.spawn("patient", move || Patient { world: world.clone() }).expect("the name is free")
    };
    let patient = spawn();
    for number in 0..10_000 {
        patient.place(number).tell().expect("there is room");
    }
    patient.actor_ref().poison();
    for number in 10_000..10_010 {
        patient.place(number).tell().expect("it is stored, for the next actor");
    }
    system.settle().await;
    world.gate.notify_one();
    system.expect_terminated(&patient).await;
    assert!(world.begun().into_iter().eq(0..10_000), "{:?}", world.begun());
    assert_eq!(system.expect_kept("/user/patient").await, 10);
    let _next = spawn();
    system.settle().await;
    assert!(world.begun().into_iter().eq(0..10_010));
}

#[supervise::test]
async fn a_drained_actor_handles_what_was_accepted_and_refuses_the_rest(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(0, Does::Wait)).accepted().await.expect("the store works");
    for number in 1..100 {
        orders.place(order(number)).tell().expect("there is room");
    }
    orders.actor_ref().stop_when_drained();
    assert!(orders.place(order(100)).tell().is_err());
    assert!(orders.place(order(101)).accepted().await.is_err());
    system.expect_dead_letter(&orders).await;
    world.gate.notify_one();
    system.expect_terminated(&orders).await;
    assert!(world.begun().into_iter().eq(0..100));
}

#[supervise::test]
async fn dur_19_what_waits_when_the_actor_stops_is_kept_for_the_next_one(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(0, Does::Wait)).accepted().await.expect("the store works");
    system.settle().await;
    for number in 1..=10 {
        orders.place(order(number)).tell().expect("there is room");
    }
    system.settle().await;
    orders.actor_ref().stop();
    system.settle().await;
    world.gate.notify_one();
    system.expect_terminated(&orders).await;
    assert_eq!(system.expect_kept("/user/orders").await, 10);
    let dead = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    assert!(dead.is_empty(), "{dead:?}");
    world.spawn(system);
    system.settle().await;
    assert!(world.begun().into_iter().eq(0..=10));
}

#[supervise::test]
async fn dur_23_a_queue_has_one_owner(system: &TestSystem) {
    let world = World::default();
    let first = world.spawn(system);
    let spawn = |name| {
        let world = world.clone();
        system.spawn_with(name, Props::new(move || Orders::new(&world)).queue("/user/orders"))
    };
    let taken = spawn("second").expect_err("the first one has the queue");
    assert!(
        matches!(&taken, SpawnError::QueueTaken { queue, owner, .. }
            if queue == "/user/orders" && *owner == first.actor_ref().path()),
        "{taken}"
    );
    first.actor_ref().stop();
    system.expect_terminated(&first).await;
    let second = spawn("second").expect("the queue is free");
    assert_eq!(second.place(order(1)).await.expect("it is handled"), 1);
}

#[supervise::test]
async fn dur_25_a_renamed_actor_finds_an_empty_queue_until_it_is_renamed_too(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn_as(system, "old");
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    let next = system.crash(Crash::Process).await;
    let orders = world.spawn_as(&next, "new");
    next.settle().await;
    let rows = next.store().queues().await.expect("the store works");
    let row = rows.iter().find(|row| row.name == "/user/old").expect("it is listed");
    assert_eq!(row.waiting, 2);
    let owned =
        next.store().rename("/user/old", "/user/new").await.expect_err("an actor has the new name's queue");
    assert!(owned.to_string().contains("/user/new"), "{owned}");
    orders.actor_ref().stop();
    next.expect_terminated(&orders).await;
    next.store().rename("/user/old", "/user/new").await.expect("nobody owns them");
    world.gate.notify_one();
    world.spawn_as(&next, "new");
    next.settle().await;
    assert!(world.begun().ends_with(&[1, 2]), "{:?}", world.begun());
}

#[supervise::test]
async fn dur_26_a_durable_actor_needs_a_store_and_a_name(system: &TestSystem) {
    let world = World::default();
    let (one, two) = (world.clone(), world.clone());
    let nameless = system.spawn_anonymous(move || Orders::new(&one)).expect_err("its queue needs a name");
    assert!(matches!(nameless, SpawnError::QueueNeedsName { .. }), "{nameless}");
    let other = ActorSystem::new("other");
    let without = other.spawn("orders", move || Orders::new(&two)).expect_err("there is no store");
    assert!(matches!(without, SpawnError::NoStore { .. }), "{without}");
    assert!(other.store().queues().await.is_err());
    other.terminate().await;
}

/// A second system opens the store that the first one has left. Only one system at a time has it open.
#[supervise::test]
async fn a_store_in_memory_outlives_its_system(_: &TestSystem) {
    let (store, world) = (MemoryStore::new(), World::default());
    let start = |name: &str| ActorSystem::builder(name).store(store.clone()).start().expect("the name is valid");
    let first = start("shop");
    let one = world.clone();
    let orders = first.spawn("orders", move || Orders::new(&one)).expect("the name is free");
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    let late = start("late");
    assert!(late.store().ready().await.is_err(), "the first one has it");
    late.terminate().await;
    first.terminate().await;
    let second = start("shop");
    second.store().ready().await.expect("it is free");
    world.gate.notify_one();
    let two = world.clone();
    let orders = second.spawn("orders", move || Orders::new(&two)).expect("the name is free");
    assert_eq!(orders.place(order(3)).await.expect("it is handled"), 3);
    assert!(world.begun().ends_with(&[1, 2, 3]), "{:?}", world.begun());
    second.terminate().await;
}
