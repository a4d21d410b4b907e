//! Actors that share one queue.
//!
//! Rule 27.19.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::durable::{Fate, MessageId};
use supervise::prelude::*;
use supervise::testkit::{Crash, Fault, TestSystem};
use supervise::{Props, SpawnError};
use tokio::sync::Semaphore;

/// What a handler has begun.
#[derive(Debug, Clone)]
struct Begun {
    by: &'static str,
    number: u32,
    id: MessageId,
    after_crash: bool,
    fence: u64,
}

#[derive(Clone)]
struct World {
    begun: Arc<Mutex<Vec<Begun>>>,
    gate: Arc<Semaphore>,
}

impl World {
    /// Handlers wait until the gate opens.
    fn shut() -> Self {
        Self { begun: Arc::default(), gate: Arc::new(Semaphore::new(0)) }
    }

    fn open() -> Self {
        let world = Self::shut();
        world.gate.add_permits(1 << 20);
        world
    }

    fn all(&self) -> Vec<Begun> {
        self.begun.lock().expect("nobody panics with it").clone()
    }

    /// The numbers that were begun, in order of size.
    fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.all().iter().map(|begun| begun.number).collect();
        numbers.sort_unstable();
        numbers
    }

    fn by(&self, name: &str) -> usize {
        self.all().iter().filter(|begun| begun.by == name).count()
    }

    fn spawn(&self, system: &TestSystem, name: &'static str) -> WorkerRef {
        let world = self.clone();
        let props = Props::new(move || Worker { name, world: world.clone() }).queue("work");
        system.spawn_with(name, props).expect("the queue is shared")
    }
}

#[derive(Debug, thiserror::Error)]
#[error("number {0}")]
struct Broken(u32);

#[actor(mailbox = durable(shared, window = 2, redeliver = 1, crashes = 2))]
struct Worker {
    name: &'static str,
    world: World,
}

#[actor]
impl Worker {
    #[handler]
    async fn work(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<&'static str, Broken> {
        let delivery = ctx.delivery().expect("it is stored");
        let (id, after_crash, fence) = (delivery.id(), delivery.after_crash(), delivery.fence());
        let begun = Begun { by: self.name, number, id, after_crash, fence };
        self.world.begun.lock().expect("nobody panics with it").push(begun);
        self.world.gate.acquire().await.expect("nobody closes it").forget();
        if number >= 1000 { Err(Broken(number)) } else { Ok(self.name) }
    }
}

/// The same queue, without others.
#[actor(mailbox = durable)]
struct Alone;

#[actor]
impl Alone {
    #[handler]
    fn work(&mut self, number: u32) -> u32 {
        number
    }
}

async fn accept(worker: &WorkerRef, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        worker.work(number).accepted().await.expect("the store works");
    }
}

#[supervise::test]
async fn dur_45_each_message_is_with_one_of_the_actors(system: &TestSystem) {
    let world = World::shut();
    let (a, b) = (world.spawn(system, "a"), world.spawn(system, "b"));
    accept(&a, 1..=4).await;
    accept(&b, 5..=8).await;
    system.settle().await;
    assert_eq!((world.by("a"), world.by("b")), (1, 1), "both have begun");
    world.gate.add_permits(1 << 20);
    // The messages that have ended stay in the store for up to 50 ms, and must not come again.
    system.settle().await;
    system.advance(Duration::from_millis(100)).await;
    accept(&a, 9..=30).await;
    system.settle().await;
    assert_eq!(world.numbers(), (1..=30).collect::<Vec<_>>());
    assert!(world.by("a") >= 4 && world.by("b") >= 4, "{:?}", world.all());
    system.advance(Duration::from_millis(100)).await;
    let rows = system.store().queues().await.expect("the store works");
    assert_eq!((rows.len(), rows[0].waiting), (1, 0), "{rows:?}");
}

#[supervise::test]
async fn dur_46_everything_that_a_dead_process_held_is_charged_and_nothing_else(system: &TestSystem) {
    let world = World::shut();
    let (a, _b) = (world.spawn(system, "a"), world.spawn(system, "b"));
    accept(&a, 1..=7).await;
    system.settle().await;
    let fence = world.all()[0].fence;
    let next = system.crash(Crash::Process).await;
    world.gate.add_permits(1 << 20);
    let before = world.all().len();
    world.spawn(&next, "c");
    next.settle().await;
    let (charged, free): (Vec<_>, Vec<_>) =
        world.all().split_off(before).into_iter().partition(|begun| begun.after_crash);
    let numbers = |begun: &[Begun]| begun.iter().map(|begun| begun.number).collect::<BTreeSet<_>>();
    assert_eq!(numbers(&charged), (1..=4).collect(), "two actors held two messages each");
    assert_eq!(numbers(&free), (5..=7).collect());
    assert_eq!(charged.len() + free.len(), 7, "each of them once");
    assert!(charged.iter().all(|begun| begun.fence > fence), "a later process has a larger fence");
}

#[supervise::test]
async fn dur_46_a_message_that_kills_every_process_is_quarantined_alone(system: &TestSystem) {
    let world = World::shut();
    let a = world.spawn(system, "a");
    accept(&a, 1..=6).await;
    system.settle().await;
    // The first message kills the process whenever it is tried; all others are innocent.
    let second = system.crash(Crash::Process).await;
    let killer = world.all()[0].id;
    world.spawn(&second, "a");
    for _ in 0..20 {
        second.settle().await;
        if world.all().last().is_some_and(|begun| begun.id == killer) && world.all().len() > 1 {
            break;
        }
        world.gate.add_permits(1);
    }
    let third = second.crash(Crash::Process).await;
    world.gate.add_permits(1 << 20);
    world.spawn(&third, "a");
    third.settle().await;
    let (id, fate) = third.expect_quarantined("/user/a").await;
    assert_eq!((id, fate), (killer, Fate::CrashedTheProcess));
    let rest: BTreeSet<u32> = world.all().iter().map(|begun| begun.number).collect();
    assert_eq!(rest, (1..=6).collect(), "the others were handled");
    third.advance(Duration::from_millis(100)).await;
    let rows = third.store().queues().await.expect("the store works");
    assert_eq!((rows[0].waiting, rows[0].quarantined), (0, 1), "{rows:?}");
}

#[supervise::test]
async fn dur_45_what_an_actor_leaves_goes_to_the_others_and_is_not_charged(system: &TestSystem) {
    let world = World::shut();
    let (a, _b) = (world.spawn(system, "a"), world.spawn(system, "b"));
    accept(&a, 1..=6).await;
    system.settle().await;
    let first = world.all();
    let other = system.spawn_with("alone", Props::new(|| Alone).queue("work")).expect_err("it is shared");
    assert!(matches!(&other, SpawnError::QueueTaken { queue, .. } if queue == "work"), "{other}");
    a.actor_ref().stop();
    world.gate.add_permits(1 << 20);
    system.settle().await;
    assert_eq!(world.numbers(), (1..=6).collect::<Vec<_>>(), "{first:?}");
    assert!(world.all().iter().all(|begun| !begun.after_crash), "nobody has died");
    assert_eq!(world.by("a"), 1);
}

#[supervise::test]
async fn dur_45_the_last_one_leaves_the_queue_to_an_actor_that_wants_it_alone(system: &TestSystem) {
    let world = World::shut();
    let a = world.spawn(system, "a");
    accept(&a, 1..=3).await;
    system.settle().await;
    a.actor_ref().stop();
    world.gate.add_permits(1);
    system.settle().await;
    assert_eq!(system.expect_kept("/user/a").await, 2);
    let alone = system.spawn_with("alone", Props::new(|| Alone).queue("work")).expect("it is free");
    assert_eq!(alone.work(4).await.expect("it is handled"), 4);
    let rows = system.store().queues().await.expect("the store works");
    assert_eq!(rows[0].quarantined, 0, "{rows:?}");
}

#[supervise::test]
async fn dur_45_failures_keys_quarantine_and_retries_are_as_elsewhere(system: &TestSystem) {
    let world = World::open();
    let (a, b) = (world.spawn(system, "a"), world.spawn(system, "b"));
    a.work(1).key("one").accepted().await.expect("the store works");
    b.work(1).key("one").accepted().await.expect("the store works");
    system.allow_failures();
    system.allow_dead_letters();
    a.work(1000).accepted().await.expect("the store works");
    system.settle().await;
    system.advance(Duration::from_secs(5)).await;
    assert_eq!(world.numbers(), [1, 1000, 1000], "it is tried twice");
    let quarantined = system.store().quarantined("work").await.expect("the store works");
    assert_eq!((quarantined.len(), quarantined[0].fate), (1, Fate::Failed));
    system.store().retry(quarantined[0].id).await.expect("the store works");
    system.settle().await;
    system.advance(Duration::from_secs(5)).await;
    assert_eq!(world.numbers(), [1, 1000, 1000, 1000, 1000], "its attempts count anew");
}

#[supervise::test]
async fn dur_45_an_asker_gets_the_answer_of_the_actor_that_handles_its_message(system: &TestSystem) {
    let world = World::shut();
    let (a, _b) = (world.spawn(system, "a"), world.spawn(system, "b"));
    let ask = |number| {
        let a = a.clone();
        tokio::spawn(async move { a.work(number).await })
    };
    let asks: Vec<_> = (1..=6).map(ask).collect();
    system.settle().await;
    world.gate.add_permits(1 << 20);
    let mut answers = BTreeSet::new();
    for ask in asks {
        answers.insert(ask.await.expect("no panic").expect("it is handled"));
    }
    assert_eq!(answers, BTreeSet::from(["a", "b"]));
}

#[supervise::test]
async fn dur_45_a_store_that_fails_loses_and_repeats_nothing(system: &TestSystem) {
    let world = World::shut();
    let (a, b) = (world.spawn(system, "a"), world.spawn(system, "b"));
    accept(&a, 1..=6).await;
    system.settle().await;
    system.store().fail(Fault::Sync);
    let unknown = b.work(7).accepted().await.expect_err("the store has failed");
    assert!(unknown.to_string().contains("nobody knows"), "{unknown}");
    world.gate.add_permits(1 << 20);
    system.advance(Duration::from_secs(5)).await;
    accept(&b, 8..=9).await;
    system.settle().await;
    system.advance(Duration::from_millis(100)).await;
    assert_eq!(world.numbers(), (1..=9).collect::<Vec<_>>());
    // A poison pill waits for what its actor has, and not for the whole queue.
    a.actor_ref().poison();
    system.settle().await;
    system.allow_dead_letters();
    assert!(a.work(9).tell().is_err(), "it has stopped");
    accept(&b, 10..=12).await;
    system.settle().await;
    assert_eq!(world.numbers(), (1..=12).collect::<Vec<_>>());
}
