//! Owners of one queue that are busy, fail, end and die beside others, and a queue that has one owner at other times.
//!
//! Rules 27.6, 27.7, 27.9, 27.10, 27.17 and 27.19.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::durable::{Delivery, Fate};
use supervise::prelude::*;
use supervise::testkit::{Crash, Fault, TestSystem};
use supervise::{Directive, Props, Strategy};
use tokio::sync::Semaphore;

/// From this number on, handlers fail.
const FAIL: u32 = 1000;

#[derive(Debug, Clone, Copy)]
struct Begun {
    by: &'static str,
    number: u32,
    delivery: Delivery,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Begun>>>);

impl Log {
    fn note(&self, by: &'static str, number: u32, delivery: Delivery) {
        self.0.lock().expect("nobody panics with it").push(Begun { by, number, delivery });
    }

    fn all(&self) -> Vec<Begun> {
        self.0.lock().expect("nobody panics with it").clone()
    }

    fn by(&self, name: &str) -> Vec<u32> {
        self.all().iter().filter(|begun| begun.by == name).map(|begun| begun.number).collect()
    }

    /// What was begun, in order of size.
    fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.all().iter().map(|begun| begun.number).collect();
        numbers.sort_unstable();
        numbers
    }

    fn clear(&self) {
        self.0.lock().expect("nobody panics with it").clear();
    }
}

fn gate(permits: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(permits))
}

const OPEN: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
#[error("number {0}")]
struct Broken(u32);

#[actor(mailbox = durable(shared, window = 2, capacity = 6))]
struct Worker {
    name: &'static str,
    log: Log,
    gate: Arc<Semaphore>,
}

#[actor]
impl Worker {
    #[handler]
    async fn work(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<&'static str, Broken> {
        self.log.note(self.name, number, ctx.delivery().expect("it is stored"));
        self.gate.acquire().await.expect("nobody closes it").forget();
        if number >= FAIL { Err(Broken(number)) } else { Ok(self.name) }
    }
}

/// The same queue, without others.
#[actor(mailbox = durable)]
struct Alone {
    log: Log,
    gate: Arc<Semaphore>,
}

#[actor]
impl Alone {
    #[handler]
    async fn work(&mut self, number: u32, ctx: &mut Context<Self>) {
        self.log.note("alone", number, ctx.delivery().expect("it is stored"));
        self.gate.acquire().await.expect("nobody closes it").forget();
    }
}

fn props(name: &'static str, log: &Log, gate: &Arc<Semaphore>) -> Props<Worker> {
    let (log, gate) = (log.clone(), Arc::clone(gate));
    Props::new(move || Worker { name, log: log.clone(), gate: Arc::clone(&gate) }).queue("work")
}

fn spawn(system: &TestSystem, name: &'static str, log: &Log, gate: &Arc<Semaphore>) -> WorkerRef {
    system.spawn_with(name, props(name, log, gate)).expect("the queue is shared")
}

fn spawn_alone(system: &TestSystem, log: &Log, gate: &Arc<Semaphore>) -> AloneRef {
    let (log, gate) = (log.clone(), Arc::clone(gate));
    let props = Props::new(move || Alone { log: log.clone(), gate: Arc::clone(&gate) }).queue("work");
    system.spawn_with("alone", props).expect("nobody shares the queue")
}

async fn accept(worker: &WorkerRef, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        worker.work(number).accepted().await.expect("the store works");
    }
}

#[supervise::test]
async fn dur_46_a_busy_owner_does_not_keep_an_idle_one_from_trying_suspects(system: &TestSystem) {
    let (log, shut, open) = (Log::default(), gate(0), gate(OPEN));
    let (first, _second) = (spawn(system, "first", &log, &shut), spawn(system, "second", &log, &shut));
    accept(&first, 1..=4).await;
    system.settle().await;
    let next = system.crash(Crash::Process).await;
    log.clear();
    let busy = spawn(&next, "busy", &log, &shut);
    next.settle().await;
    accept(&busy, [5]).await;
    next.settle().await;
    assert_eq!(log.by("busy").len(), 1, "it tries one, and has no room for another one");
    spawn(&next, "idle", &log, &open);
    // After 30 s, others may be tried beside it.
    next.advance(Duration::from_secs(120)).await;
    assert_eq!(log.by("idle").len(), 3, "three suspects wait: {:?}", log.all());
}

#[supervise::test]
async fn dur_46_suspects_are_tried_although_the_queue_is_never_empty(system: &TestSystem) {
    let (log, shut) = (Log::default(), gate(0));
    accept(&spawn(system, "first", &log, &shut), 1..=2).await;
    system.settle().await;
    let next = system.crash(Crash::Process).await;
    log.clear();
    let worker = spawn(&next, "worker", &log, &shut);
    accept(&worker, 10..14).await;
    for number in 14..24 {
        next.settle().await;
        shut.add_permits(1);
        next.advance(Duration::from_millis(100)).await;
        accept(&worker, [number]).await;
    }
    let begun = log.numbers();
    assert!(begun.contains(&1) && begun.contains(&2), "{begun:?}");
}

#[supervise::test]
async fn dur_46_a_death_is_charged_when_the_queue_is_shared_afterwards_or_owned_alone(system: &TestSystem) {
    let (log, shut, open) = (Log::default(), gate(0), gate(OPEN));
    // The fence grows with each owner.
    for _ in 0..3 {
        let alone = spawn_alone(system, &log, &open);
        alone.work(0).await.expect("it is handled");
        alone.actor_ref().stop();
        system.expect_terminated(&alone).await;
    }
    let alone = spawn_alone(system, &log, &shut);
    for number in 1..=3 {
        alone.work(number).accepted().await.expect("the store works");
    }
    system.settle().await;
    let system = system.crash(Crash::Process).await;
    let fence = log.all().last().expect("it has begun").delivery.fence();
    log.clear();
    let (a, b) = (gate(0), gate(0));
    spawn(&system, "a", &log, &a);
    spawn(&system, "b", &log, &b);
    system.settle().await;
    let charged = |log: &Log| {
        let all = log.all().into_iter().filter(|begun| begun.delivery.after_crash());
        all.map(|begun| begun.number).collect::<BTreeSet<_>>()
    };
    assert_eq!(charged(&log), BTreeSet::from([1]), "1 was under way: {:?}", log.all());
    assert!(log.all().iter().all(|begun| begun.delivery.fence() > fence), "{fence}: {:?}", log.all());
    // All three are held now.
    let fence = log.all()[0].delivery.fence();
    let system = system.crash(Crash::Process).await;
    log.clear();
    spawn_alone(&system, &log, &open);
    system.settle().await;
    assert_eq!(log.numbers(), [1, 2, 3]);
    assert_eq!(charged(&log), BTreeSet::from([1, 2, 3]), "the others held them: {:?}", log.all());
    assert!(log.all().iter().all(|begun| begun.delivery.fence() > fence), "{fence}: {:?}", log.all());
}

#[supervise::test]
async fn dur_45_the_capacity_counts_messages_on_their_way_to_the_store(system: &TestSystem) {
    let (log, shut) = (Log::default(), gate(0));
    let worker = spawn(system, "worker", &log, &shut);
    accept(&worker, [0]).await;
    system.store().hold();
    worker.work(1).tell().expect("there is room");
    system.advance(Duration::from_millis(10)).await;
    // The first one is with the store, and these wait for it.
    for number in 2..6 {
        worker.work(number).tell().expect("there is room");
    }
    assert!(worker.work(6).tell().is_err(), "six messages wait");
    system.store().release();
    let mut more = 0;
    for _ in 0..100 {
        more += u32::from(worker.work(7).tell().is_ok());
        system.advance(Duration::from_micros(100)).await;
    }
    assert_eq!(more, 0, "nothing was handled");
}

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Parent {
    log: Log,
    gate: Arc<Semaphore>,
}

#[actor]
impl Parent {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.more("child", ctx).map(drop)
    }

    #[handler]
    fn more(&mut self, name: &'static str, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn_with(name, props(name, &self.log, &self.gate))
    }
}

fn under(system: &TestSystem, directive: Directive, log: &Log, gate: &Arc<Semaphore>) -> ParentRef {
    let (log, gate) = (log.clone(), Arc::clone(gate));
    let props = Props::new(move || Parent { log: log.clone(), gate: Arc::clone(&gate) })
        .supervision_unchecked(Strategy::one_for_one(), move |_, _| Ok(directive));
    system.spawn_with("parent", props).expect("the name is free")
}

/// What a message that always fails has gone through when everything is quiet: its attempts, and its fate.
async fn poison(system: &TestSystem, directive: Directive) -> (Vec<u32>, Vec<Fate>) {
    system.allow_failures();
    system.allow_dead_letters();
    let (log, open) = (Log::default(), gate(OPEN));
    under(system, directive, &log, &open);
    let healthy = spawn(system, "healthy", &log, &open);
    accept(&healthy, [1, FAIL, 2, 3]).await;
    for number in 10..40 {
        accept(&healthy, [number]).await;
        system.settle().await;
    }
    system.advance(Duration::from_secs(60)).await;
    let all = log.all();
    let innocent: BTreeSet<u32> = all.iter().map(|begun| begun.number).filter(|number| *number < FAIL).collect();
    assert_eq!(innocent, (1..=3).chain(10..40).collect(), "nothing is lost");
    assert_eq!(all.iter().filter(|begun| begun.number < FAIL).count(), innocent.len(), "{all:?}");
    let quarantined = system.store().quarantined("work").await.expect("the store works");
    let attempts = all.iter().filter(|begun| begun.number == FAIL).map(|begun| begun.delivery.attempt());
    (attempts.collect(), quarantined.iter().map(|quarantined| quarantined.fate).collect())
}

#[supervise::test]
async fn dur_45_a_message_that_fails_with_every_owner_is_quarantined_once(system: &TestSystem) {
    assert_eq!(poison(system, Directive::Restart).await, (vec![1, 2, 3, 4], vec![Fate::Failed]));
}

#[supervise::test]
async fn dur_45_a_message_that_escalates_is_quarantined_once(system: &TestSystem) {
    assert_eq!(poison(system, Directive::Escalate).await, (vec![1, 2, 3, 4], vec![Fate::Failed]));
}

#[supervise::test]
async fn dur_45_a_message_whose_failure_stops_its_owner_goes_to_the_others_with_its_attempts(system: &TestSystem) {
    assert_eq!(poison(system, Directive::Stop).await, (vec![1, 2, 3, 4], vec![Fate::Failed]));
}

#[supervise::test]
async fn dur_45_a_message_is_quarantined_if_its_owner_is_resumed_and_may_be_retried_and_discarded(
    system: &TestSystem,
) {
    system.allow_failures();
    system.allow_dead_letters();
    let (log, open) = (Log::default(), gate(OPEN));
    let parent = under(system, Directive::Resume, &log, &open);
    let other = parent.more("other").await.expect("the queue is shared");
    accept(&other, [1, FAIL, 2]).await;
    system.settle().await;
    let failed = || log.all().into_iter().filter(|begun| begun.number == FAIL).collect::<Vec<_>>();
    assert_eq!(failed().len(), 1, "{:?}", log.all());
    let store = system.store();
    let quarantined = store.quarantined("work").await.expect("the store works");
    assert_eq!(quarantined.len(), 1, "{quarantined:?}");
    store.retry(quarantined[0].id).await.expect("the store works");
    accept(&other, [3, 4]).await;
    system.settle().await;
    assert_eq!(failed().iter().map(|begun| begun.delivery.attempt()).collect::<Vec<_>>(), [1, 1]);
    let quarantined = store.quarantined("work").await.expect("the store works");
    assert_eq!(quarantined.len(), 1, "{quarantined:?}");
    store.discard(quarantined[0].id).await.expect("the store works");
    accept(&other, [5]).await;
    system.advance(Duration::from_secs(1)).await;
    let rows = store.queues().await.expect("the store works");
    assert_eq!((rows[0].waiting, rows[0].quarantined), (0, 0), "{rows:?}");
    assert_eq!(log.numbers(), [1, 2, 3, 4, 5, FAIL, FAIL]);
}

#[supervise::test]
async fn dur_45_owners_that_are_drained_with_work_under_way_leave_the_rest_uncharged(system: &TestSystem) {
    let (log, a, b) = (Log::default(), gate(0), gate(0));
    let (first, second) = (spawn(system, "a", &log, &a), spawn(system, "b", &log, &b));
    accept(&first, 1..=6).await;
    system.settle().await;
    first.actor_ref().stop_when_drained();
    system.settle().await;
    a.add_permits(OPEN);
    system.expect_terminated(&first).await;
    assert_eq!(log.by("a").len(), 2, "what it had in memory: {:?}", log.all());
    second.actor_ref().stop();
    b.add_permits(OPEN);
    system.expect_terminated(&second).await;
    assert_eq!(system.expect_kept("/user/b").await, 3);
    spawn(system, "c", &log, &gate(OPEN));
    system.settle().await;
    assert_eq!(log.numbers(), [1, 2, 3, 4, 5, 6]);
    let untouched = |begun: &Begun| !begun.delivery.after_crash() && begun.delivery.attempt() == 1;
    assert!(log.all().iter().all(untouched), "{:?}", log.all());
}

/// A lost acknowledgement must not give a message to a second owner, and a store that fails must not strand one.
#[supervise::test]
async fn dur_45_a_store_that_goes_down_and_comes_back_strands_nothing(system: &TestSystem) {
    let (log, a, b) = (Log::default(), gate(0), gate(0));
    let (first, second) = (spawn(system, "a", &log, &a), spawn(system, "b", &log, &b));
    accept(&first, 1..=6).await;
    system.settle().await;
    system.store().fail(Fault::Down);
    a.add_permits(1);
    first.actor_ref().stop();
    a.add_permits(OPEN);
    b.add_permits(1);
    system.advance(Duration::from_secs(10)).await;
    system.store().release();
    b.add_permits(OPEN);
    system.advance(Duration::from_secs(120)).await;
    assert_eq!(log.numbers(), [1, 2, 3, 4, 5, 6], "{:?}", log.all());
    accept(&second, [7]).await;
    system.settle().await;
    assert_eq!(log.by("b").last(), Some(&7));
}
