//! Edge cases: outages, messages that cannot be encoded, declared children, patterns, keys.
//!
//! Rules 27.2, 27.8, 27.10, 27.11 and 27.13.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use supervise::durable::AcceptError;
use supervise::pattern::Pool;
use supervise::prelude::*;
use supervise::testkit::{Fault, TestSystem};
use supervise::{AskError, Event, SendErrorReason};

use crate::orders::{Does, Orders, World, order, that};

#[supervise::test]
async fn an_outage_is_said_told_messages_wait_and_what_is_in_memory_is_handled(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    system.store().fail(Fault::Down);
    let lost = orders.place(order(3)).accepted().await.expect_err("the store fails now");
    assert!(matches!(lost, AcceptError::Unknown(_)), "{lost}");
    orders.place(order(4)).tell().expect("it waits");
    let down = orders.place(order(5)).await.expect_err("it does not wait");
    assert!(matches!(down, AskError::NotAccepted(AcceptError::StoreDown(_))), "{down}");
    assert!(system.store().queues().await.is_err());
    world.gate.notify_one();
    system.advance(Duration::from_secs(10)).await;
    assert_eq!(world.begun(), [1, 2], "what was in memory is handled");
    system.store().release();
    system.advance(Duration::from_secs(60)).await;
    assert_eq!(world.begun(), [1, 2, 4]);
    let events = system.take_all(|event| matches!(event, Event::StoreFailed { .. } | Event::StoreOpened)).await;
    assert!(matches!(events.first(), Some(Event::StoreFailed { .. })), "{events:?}");
    assert!(matches!(events.last(), Some(Event::StoreOpened)), "{events:?}");
    system.advance(Duration::from_millis(100)).await;
    assert_eq!(system.store().queues().await.expect("the store works")[0].waiting, 0, "acknowledged afterwards");
}

#[supervise::test]
async fn a_kill_comes_after_all_that_was_accepted_before_it(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(0, Does::Wait)).accepted().await.expect("the store works");
    for number in 1..50 {
        orders.place(order(number)).tell().expect("there is room");
    }
    orders.actor_ref().kill();
    orders.place(order(50)).tell().expect("it is stored");
    world.gate.notify_one();
    system.expect_terminated(&orders).await;
    assert!(world.begun().into_iter().eq(0..50));
    assert_eq!(system.expect_kept("/user/orders").await, 1);
    system.allow_failures();
}

/// Its encoding fails, or panics.
struct Stubborn(bool);

impl Serialize for Stubborn {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        assert!(self.0, "not today");
        Err(serde::ser::Error::custom("never"))
    }
}

impl<'de> Deserialize<'de> for Stubborn {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("never"))
    }
}

#[actor(mailbox = durable)]
struct Picky;

#[actor]
impl Picky {
    #[handler]
    fn take(&mut self, stubborn: Stubborn) -> bool {
        stubborn.0
    }
}

#[supervise::test]
async fn what_cannot_be_encoded_comes_back(system: &TestSystem) {
    let picky = system.spawn("picky", || Picky).expect("the name is free");
    let error = picky.take(Stubborn(true)).accepted().await.expect_err("its encoding fails");
    assert!(matches!(&error, AcceptError::NotEncodable(text) if text.contains("never")), "{error}");
    let panic = picky.take(Stubborn(false)).await.expect_err("its encoding panics");
    assert!(
        matches!(&panic, AskError::NotAccepted(AcceptError::NotEncodable(text)) if text.contains("not today"))
    );
    let told = picky.take(Stubborn(true)).tell().expect_err("its encoding fails");
    assert_eq!(told.reason(), SendErrorReason::NotAccepted);
    let sent = picky.take(Stubborn(true)).send().await.expect_err("its encoding fails");
    assert!(matches!(sent.into_message().message(), PickyMessage::Take { stubborn: Stubborn(true) }));
}

/// Nested as deep as somebody wants.
#[derive(Serialize, Deserialize)]
struct Nested(Vec<Nested>);

impl Nested {
    fn levels(levels: usize) -> Self {
        (0..levels).fold(Self(Vec::new()), |inner, _| Self(vec![inner]))
    }
}

#[actor(mailbox = durable)]
struct Nest;

#[actor]
impl Nest {
    #[handler]
    fn take(&mut self, nested: Nested) -> usize {
        nested.0.len()
    }
}

/// To decode it would take too much stack, and perhaps the process.
#[supervise::test]
async fn what_is_nested_too_deep_comes_back(system: &TestSystem) {
    let nest = system.spawn("nest", || Nest).expect("the name is free");
    assert_eq!(nest.take(Nested::levels(60)).await.ok(), Some(1));
    let error = nest.take(Nested::levels(100)).accepted().await.expect_err("it is too deep");
    assert!(matches!(&error, AcceptError::NotEncodable(text) if text.contains("64 levels")), "{error}");
    let sender = system.store().sender::<Nest>("/user/nest");
    let error =
        sender.accepted(NestMessage::Take { nested: Nested::levels(100) }).await.expect_err("also from there");
    assert!(matches!(&error, AcceptError::NotEncodable(_)), "{error}");
}

/// Its child's queue is the child's path.
#[actor]
#[supervise(one_for_one, on(_) = Stop)]
struct Shop {
    world: World,
    #[child(|this| { let world = this.world.clone(); move || Orders::new(&world) })]
    orders: Child<Orders>,
}

#[actor]
impl Shop {
    #[handler]
    async fn place(&self, number: u32) -> Result<u32, AskError> {
        self.orders.actor().place(order(number)).await
    }
}

#[supervise::test]
async fn a_declared_child_has_a_queue_and_cannot_start_without_a_store(system: &TestSystem) {
    let world = World::default();
    let inner = world.clone();
    let shop = move || Shop { world: inner.clone(), orders: Child::default() };
    let declared = system.spawn("shop", shop.clone()).expect("the name is free");
    assert_eq!(declared.place(1).await.expect("it is handled"), 1);
    let rows = system.store().queues().await.expect("the store works");
    assert_eq!(rows[0].name, "/user/shop/orders");
    let other = ActorSystem::new("other");
    let without = other.spawn("shop", shop).expect("the shop itself needs no store");
    let error = without.place(1).timeout(Duration::from_secs(1)).await.expect_err("its child cannot start");
    assert!(matches!(error, AskError::Timeout(_) | AskError::StoppedByFailure(_)), "{error}");
    other.terminate().await;
}

/// Wants a queue for each customer.
#[actor]
#[supervise(one_for_one, on(_) = Stop)]
struct Desk {
    world: World,
    #[child(|this| { let world = this.world.clone(); move |_: &u64| Orders::new(&world) })]
    customers: Children<u64, Orders>,
}

#[actor]
impl Desk {
    #[handler]
    fn customer(&self, number: u64) -> String {
        self.customers.get_or_spawn(number).expect_err("a queue for each key is not there yet").to_string()
    }
}

#[supervise::test]
async fn a_pattern_accepts_nothing_and_keyed_children_cannot_be_durable(system: &TestSystem) {
    let world = World::default();
    system.allow_failures();
    system.allow_dead_letters();
    let inner = world.clone();
    let pool = Pool::round_robin(2, move || Orders::new(&inner)).props();
    let pool = system.spawn_with("pool", pool).expect("the name is free");
    let error = pool.place(order(1)).accepted().await.expect_err("a pool has no queue");
    assert!(matches!(error, AcceptError::StoreDown(_)), "{error}");
    let inner = world.clone();
    let desk = move || Desk { world: inner.clone(), customers: Children::default() };
    let desk = system.spawn("desk", desk).expect("the name is free");
    let refused = desk.customer(1).await.expect("it is handled");
    assert!(refused.contains("a child that has a key cannot have a durable mailbox"), "{refused}");
}
