//! Values and actors that misbehave, and durable mailboxes together with the rest of the grammar.
//!
//! Rules 27.2, 27.4, 27.7, 27.8, 27.12 and 27.17.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use supervise::durable::{AcceptError, Fate, MemoryStore};
use supervise::prelude::*;
use supervise::testkit::{Crash, TestSystem};
use supervise::{Event, Props};

use crate::orders::{Does, Failed, Order, Orders, World, order, that};

/// Panics where it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mine {
    Encoded,
    Decoded,
    Dropped,
    Nowhere,
}

struct Trap(Mine);

/// How often traps were encoded.
static TIMES: AtomicU32 = AtomicU32::new(0);

impl Serialize for Trap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert!(self.0 != Mine::Encoded, "encoded");
        // It is never encoded in the same way.
        let number = match self.0 {
            Mine::Decoded => 1,
            Mine::Dropped => 2,
            _ => 3 + TIMES.fetch_add(1, Ordering::Relaxed),
        };
        serializer.serialize_u32(number)
    }
}

impl<'de> Deserialize<'de> for Trap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => panic!("decoded"),
            2 => Ok(Self(Mine::Dropped)),
            _ => Ok(Self(Mine::Nowhere)),
        }
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        assert!(self.0 != Mine::Dropped || std::thread::panicking(), "dropped");
    }
}

#[actor(mailbox = durable(capacity = 1000, window = 1))]
struct Traps {
    world: World,
}

#[actor]
impl Traps {
    #[handler]
    async fn place(&mut self, number: u32, trap: Trap, wait: bool) -> u32 {
        self.world.note(number);
        std::mem::forget(trap);
        if wait {
            self.world.gate.notified().await;
        }
        number
    }
}

fn traps(system: &TestSystem, world: &World) -> TrapsRef {
    let world = world.clone();
    system.spawn("traps", move || Traps { world: world.clone() }).expect("the name is free")
}

#[supervise::test]
async fn dur_20_values_that_panic_hurt_themselves_and_nobody_else(system: &TestSystem) {
    let world = World::default();
    let actor = traps(system, &world);
    let refused = actor.place(0, Trap(Mine::Encoded), false).accepted().await.expect_err("it cannot be encoded");
    assert!(matches!(refused, AcceptError::NotEncodable(_)), "{refused}");
    actor.place(1, Trap(Mine::Nowhere), true).accepted().await.expect("the store works");
    for (number, mine) in [(2, Mine::Decoded), (3, Mine::Dropped), (4, Mine::Nowhere), (5, Mine::Dropped)] {
        actor.place(number, Trap(mine), false).accepted().await.expect("the store works");
    }
    let asker = actor.clone();
    let asked = tokio::spawn(async move { asker.place(6, Trap(Mine::Dropped), false).await });
    system.settle().await;
    world.gate.notify_one();
    system.settle().await;
    assert_eq!(world.begun(), [1, 3, 4, 5, 6]);
    assert_eq!(system.expect_quarantined("/user/traps").await.1, Fate::Undecodable);
    assert_eq!(asked.await.expect("no panic").ok(), Some(6));
    system.allow_failures();
}

#[supervise::test]
async fn a_value_that_panics_when_it_is_refused_does_not_stop_the_store(system: &TestSystem) {
    let world = World::default();
    let actor = traps(system, &world);
    system.settle().await;
    system.store().fail(supervise::testkit::Fault::Full);
    actor.place(1, Trap(Mine::Dropped), false).tell().expect("there is room");
    {
        let mut accepted = std::pin::pin!(actor.place(2, Trap(Mine::Dropped), false).accepted());
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(accepted.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
    }
    system.settle().await;
    system.store().release();
    assert_eq!(actor.place(3, Trap(Mine::Nowhere), false).await.ok(), Some(3));
    system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    system.allow_failures();
}

/// Sets messages aside until it is open.
#[actor(mailbox = durable(capacity = 1000, window = 8))]
struct Gate {
    world: World,
    open: bool,
}

#[actor]
impl Gate {
    #[handler]
    fn open(&mut self) {
        self.open = true;
    }

    #[handler]
    fn fail(&mut self, ctx: &mut Context<Self>) -> Result<(), Failed> {
        let attempt = ctx.delivery().expect("it is stored").attempt();
        if attempt == 1 { Err(Failed(0)) } else { Ok(()) }
    }

    #[handler]
    fn pass(&mut self, number: u32) -> u32 {
        self.world.note(number);
        number
    }

    #[handler(skip_abandoned)]
    async fn slow(&mut self, number: u32) -> u32 {
        self.world.note(number);
        self.world.gate.notified().await;
        number
    }

    #[stash_while]
    fn closed(&self, message: &GateMessage) -> bool {
        !self.open && matches!(message, GateMessage::Pass { .. })
    }
}

fn gate(system: &TestSystem, world: &World) -> GateRef {
    let world = world.clone();
    system.spawn("gate", move || Gate { world: world.clone(), open: false }).expect("the name is free")
}

#[supervise::test]
async fn dur_38_stashed_messages_keep_their_places_across_a_restart_and_a_crash(system: &TestSystem) {
    for crashes in [false, true] {
        let world = World::default();
        let next;
        let mut actor = gate(system, &world);
        for number in 0..4 {
            actor.pass(number).tell().expect("there is room");
        }
        actor.fail().tell().expect("there is room");
        for number in 4..7 {
            actor.pass(number).tell().expect("there is room");
        }
        system.settle().await;
        let mut current: &TestSystem = system;
        if crashes {
            next = system.crash(Crash::Process).await;
            current = &next;
            actor = gate(current, &world);
            current.settle().await;
        }
        actor.open().tell().expect("there is room");
        for number in 7..20 {
            actor.pass(number).tell().expect("there is room");
        }
        current.settle().await;
        assert_eq!(world.begun(), (0..20).collect::<Vec<u32>>(), "{crashes}");
        current.allow_failures();
        if !crashes {
            actor.actor_ref().stop();
            system.expect_terminated(&actor).await;
        }
    }
    system.allow_failures();
}

#[supervise::test]
async fn a_handler_that_skips_abandoned_messages_acknowledges_them(system: &TestSystem) {
    let world = World::default();
    let actor = gate(system, &world);
    actor.slow(1).tell().expect("there is room");
    for number in 2..5 {
        let asked = actor.slow(number).timeout(Duration::from_secs(1)).await;
        assert!(asked.is_err());
    }
    for _ in 0..5 {
        world.gate.notify_one();
        system.settle().await;
    }
    assert_eq!(world.begun(), [1], "`skip_abandoned` means that");
    let skipped = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert_eq!(system.store().queues().await.expect("the store works")[0].waiting, 0);
}

/// Handles several at once.
#[actor(mailbox = durable(capacity = 1000, window = 16, redeliver = 1))]
struct Many {
    world: World,
}

#[actor]
impl Many {
    #[handler(batch = 8)]
    async fn gather(&mut self, numbers: Vec<u32>) -> Result<(), Failed> {
        for number in &numbers {
            self.world.note(*number);
        }
        if numbers.contains(&0) {
            self.world.gate.notified().await;
        }
        if numbers.contains(&13) { Err(Failed(13)) } else { Ok(()) }
    }
}

#[supervise::test]
async fn a_batch_loses_nothing(system: &TestSystem) {
    let world = World::default();
    let inner = world.clone();
    let actor = system.spawn("many", move || Many { world: inner.clone() }).expect("the name is free");
    for number in 0..40 {
        actor.gather(number).tell().expect("there is room");
    }
    system.settle().await;
    world.gate.notify_one();
    system.advance(Duration::from_secs(10)).await;
    let mut begun = world.begun();
    begun.sort_unstable();
    begun.dedup();
    assert_eq!(begun, (0..40).collect::<Vec<u32>>());
    let quarantined = system.store().quarantined("/user/many").await.expect("the store works");
    let bodies: Vec<_> = quarantined.iter().map(|one| one.message.body.last().copied()).collect();
    assert_eq!(bodies, [Some(13)], "the others of its batch are handled: {quarantined:?}");
    assert_eq!(system.store().queues().await.expect("the store works")[0].waiting, 0);
    system.allow_failures();
    system.take_all(|event| matches!(event, Event::Quarantined { .. } | Event::DeadLetter(_))).await;
}

/// One at a time, with senders who wait.
#[actor(mailbox = durable(capacity = 1, window = 1))]
struct Narrow {
    world: World,
}

#[actor]
impl Narrow {
    #[handler]
    fn place(&mut self, number: u32) {
        self.world.note(number);
    }
}

#[supervise::test]
async fn dur_33_a_narrow_queue_lets_everybody_through(system: &TestSystem) {
    let world = World::default();
    let inner = world.clone();
    let actor = system.spawn("narrow", move || Narrow { world: inner.clone() }).expect("the name is free");
    let senders: Vec<_> = (0..300)
        .map(|number| {
            let actor = actor.clone();
            tokio::spawn(async move {
                if number % 3 == 0 {
                    // It gives up, perhaps when it has just been told that there is room.
                    drop(
                        tokio::time::timeout(Duration::from_millis(number.into()), actor.place(number).accepted())
                            .await,
                    );
                } else if number % 3 == 1 {
                    actor.place(number).accepted().await.expect("the store works");
                } else {
                    actor.place(number).send().await.expect("the store works");
                }
            })
        })
        .collect();
    for sender in senders {
        tokio::time::timeout(Duration::from_secs(100), sender).await.expect("it has its turn").expect("no panic");
    }
    system.settle().await;
    let begun = world.begun();
    assert!((0..300).filter(|number| number % 3 != 0).all(|number| begun.contains(&number)), "{begun:?}");
}

#[supervise::test]
async fn dur_23_a_queue_changes_its_owner_a_thousand_times(system: &TestSystem) {
    let world = World::default();
    let mut actor = world.spawn(system);
    actor.place(that(0, Does::Wait)).accepted().await.expect("the store works");
    for number in 1..=1000 {
        actor.place(order(number)).tell().expect("there is room");
        actor.actor_ref().stop();
        world.gate.notify_waiters();
        system.expect_terminated(&actor).await;
        actor = world.spawn(system);
        if number % 100 == 0 {
            system.settle().await;
        }
    }
    world.gate.notify_one();
    system.settle().await;
    let mut begun = world.begun();
    begun.dedup();
    let mut firsts: Vec<u32> = Vec::new();
    for number in begun {
        if !firsts.contains(&number) {
            firsts.push(number);
        }
    }
    assert_eq!(firsts, (0..=1000).collect::<Vec<u32>>());
    system.take_all(|event| matches!(event, Event::Kept { .. })).await;
    system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
}

#[supervise::test]
async fn dur_11_a_queue_may_have_any_name(system: &TestSystem) {
    let world = World::default();
    for (at, queue) in ["", "a b\n\0\u{1f980}", "../../etc", &"x".repeat(1 << 20), "*.>"].into_iter().enumerate() {
        let inner = world.clone();
        let props = Props::new(move || Orders::new(&inner)).queue(queue);
        let orders: crate::orders::OrdersRef =
            system.spawn_with(format!("orders-{at}"), props).expect("it is free");
        assert_eq!(orders.place(order(1)).await.ok(), Some(1));
    }
    assert_eq!(system.store().queues().await.expect("the store works").len(), 5);
}

/// A system that is dropped has died.
#[test]
fn dur_40_a_system_that_is_dropped_without_an_end_leaves_its_store() {
    let (store, world) = (MemoryStore::new(), World::default());
    for number in 1..4 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime can be made").block_on(async {
            let system = ActorSystem::builder("shop").store(store.clone()).start().expect("the name is valid");
            let inner = world.clone();
            let orders = system.spawn("orders", move || Orders::new(&inner)).expect("the name is free");
            orders.place(Order { number, does: Does::Return }).accepted().await.expect("the store works");
            drop((system, orders));
        });
    }
    assert!(!world.begun().is_empty());
}
