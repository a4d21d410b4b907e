//! Messages that kill the process.
//!
//! Rule 27.9.

use std::sync::{Arc, Mutex};

use supervise::durable::Fate;
use supervise::prelude::*;
use supervise::testkit::{Crash, TestStore, TestSystem};

use crate::orders::{Does, World, order, that};

#[supervise::test]
async fn dur_16_a_message_that_kills_the_process_is_quarantined_at_the_third_start(system: &TestSystem) {
    let world = World::default();
    let orders = world.spawn(system);
    orders.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    orders.place(order(2)).accepted().await.expect("the store works");
    system.settle().await;
    let second = system.crash(Crash::Process).await;
    world.spawn(&second);
    second.settle().await;
    let third = second.crash(Crash::Process).await;
    world.spawn(&third);
    third.settle().await;
    assert_eq!(world.begun(), [1, 1, 1], "it kills the third process too");
    let fourth = third.crash(Crash::Process).await;
    world.spawn(&fourth);
    fourth.settle().await;
    assert_eq!(world.begun(), [1, 1, 1, 2]);
    let (id, fate) = fourth.expect_quarantined("/user/orders").await;
    assert_eq!((id, fate), (world.seen()[0].id, Fate::CrashedTheProcess));
}

/// Twenty actors are busy with innocent messages whenever the process dies. Each of them is charged once at most, because after
/// that it is tried alone.
#[supervise::test]
async fn dur_17_innocent_neighbours_are_not_quarantined_and_suspects_do_not_overlap(system: &TestSystem) {
    let world = World::default();
    let mut current = None;
    for round in 0..6 {
        let now = current.as_ref().unwrap_or(system);
        let before = world.begun().len();
        let actors: Vec<_> = (0..20).map(|number| world.spawn_as(now, &format!("orders-{number}"))).collect();
        if round == 0 {
            for (number, orders) in (0..).zip(&actors) {
                orders.place(that(number, Does::Wait)).accepted().await.expect("the store works");
            }
        }
        now.settle().await;
        let begun = world.begun().len() - before;
        assert!((round == 0 && begun == 20) || begun == 1, "round {round}: {begun} suspects at once");
        if round < 3 {
            // The first of them kills the process, whenever it is tried.
            let next = now.crash(Crash::Process).await;
            current = Some(next);
        } else {
            world.gate.notify_waiters();
            now.settle().await;
            let rows = now.store().queues().await.expect("the store works");
            let quarantined: u64 = rows.iter().map(|row| row.quarantined).sum();
            assert!(quarantined <= 1, "{rows:?}");
            for _ in 0..40 {
                world.gate.notify_waiters();
                now.settle().await;
            }
            now.allow_dead_letters();
            break;
        }
    }
    let last = current.as_ref().expect("three crashes");
    last.advance(std::time::Duration::from_millis(100)).await;
    let rows = last.store().queues().await.expect("the store works");
    assert!(rows.iter().all(|row| row.waiting == 0), "{rows:?}");
    assert!(rows.iter().map(|row| row.quarantined).sum::<u64>() <= 1);
}

/// Handles several at once. Its handler waits for ever if one of them is 3.
#[actor(mailbox = durable)]
struct Bulk {
    /// What each call of the handler got, and whether the last one of it may have been begun before.
    log: BulkLog,
}

type BulkLog = Arc<Mutex<Vec<(Vec<u32>, bool)>>>;

#[actor]
impl Bulk {
    #[handler(batch = 64)]
    async fn insert(&mut self, numbers: Vec<u32>, ctx: &mut Context<Self>) {
        let after_crash = ctx.delivery().is_some_and(|delivery| delivery.after_crash());
        let kills = numbers.contains(&3);
        self.log.lock().expect("nobody panics with it").push((numbers, after_crash));
        if kills {
            std::future::pending::<()>().await;
        }
    }
}

#[supervise::test]
async fn a_message_that_kills_the_process_within_a_batch_is_quarantined_at_the_third_start(system: &TestSystem) {
    let log = BulkLog::default();
    let spawn = |system: &TestSystem| {
        let log = Arc::clone(&log);
        system.spawn("bulk", move || Bulk { log: Arc::clone(&log) }).expect("the name is free")
    };
    let bulk = spawn(system);
    for number in 1..=6 {
        bulk.insert(number).tell().expect("there is room");
    }
    system.settle().await;
    let first = system.crash(Crash::Process).await;
    // These have not been begun.
    let bulk = spawn(&first);
    for number in 7..=8 {
        bulk.insert(number).tell().expect("there is room");
    }
    first.settle().await;
    let second = first.crash(Crash::Process).await;
    spawn(&second);
    second.settle().await;
    let third = second.crash(Crash::Process).await;
    spawn(&third);
    third.settle().await;
    let (_, fate) = third.expect_quarantined("/user/bulk").await;
    assert_eq!(fate, Fate::CrashedTheProcess);
    let log = log.lock().expect("nobody panics with it").clone();
    let alone = |number| (vec![number], true);
    let expected = [
        (vec![1, 2, 3, 4, 5, 6], false),
        alone(1),
        alone(2),
        alone(3),
        alone(3),
        alone(4),
        alone(5),
        alone(6),
        (vec![7, 8], false),
    ];
    assert_eq!(log, expected, "those with which the process has died are tried alone");
}

#[derive(Debug, thiserror::Error)]
#[error("too many at once")]
struct TooMany;

/// If it has a store: it fails when it gets more than one number, and when it gets one, it makes the store hang
/// and waits for ever.
#[actor(mailbox = durable(window = 4095))]
struct Narrow {
    store: Option<TestStore>,
    log: NarrowLog,
}

/// For each call of the handler, the number of messages and the attempt of the last one.
type NarrowLog = Arc<Mutex<Vec<(usize, u32)>>>;

#[actor]
impl Narrow {
    #[handler(batch = 4095)]
    async fn insert(&mut self, numbers: Vec<u32>, ctx: &mut Context<Self>) -> Result<(), TooMany> {
        let attempt = ctx.delivery().map_or(0, |delivery| delivery.attempt());
        self.log.lock().expect("nobody panics with it").push((numbers.len(), attempt));
        let Some(store) = &self.store else { return Ok(()) };
        if numbers.len() > 1 {
            // A group stores 4096 changes: these, and the first charge.
            for _ in 0..4095 {
                ctx.me().note().tell().expect("there is room");
            }
            return Err(TooMany);
        }
        store.hold();
        std::future::pending().await
    }

    #[handler]
    fn note(&mut self) {}
}

/// Rule 27.7.
#[supervise::test]
async fn a_message_of_a_batch_is_tried_again_when_the_whole_batch_is_charged(system: &TestSystem) {
    let log = NarrowLog::default();
    let spawn = |system: &TestSystem, store: Option<TestStore>| {
        let log = Arc::clone(&log);
        let narrow = move || Narrow { store: store.clone(), log: Arc::clone(&log) };
        system.spawn("narrow", narrow).expect("the name is free")
    };
    let seen = || log.lock().expect("nobody panics with it").clone();
    system.allow_failures();
    let store = system.store();
    store.hold();
    let narrow = spawn(system, Some(system.store()));
    for number in 0..4095 {
        narrow.insert(number).tell().expect("there is room");
    }
    store.release();
    system.settle().await;
    assert_eq!(seen(), [(4095, 1), (1, 2)]);
    let next = system.crash(Crash::Process).await;
    next.store().release();
    spawn(&next, None);
    next.settle().await;
    assert_eq!(seen()[2..], vec![(1, 2); 4095], "the store has the failures of all");
}

/// Sets numbers aside until it is ready, and waits with each of them for its gate.
#[actor(mailbox = durable(window = 4, crashes = 9))]
struct Shy {
    is_ready: bool,
    world: World,
}

#[actor]
impl Shy {
    #[handler]
    async fn place(&mut self, number: u32) {
        self.world.note(number);
        self.world.gate.notified().await;
    }

    #[handler]
    async fn wait(&mut self) {
        self.world.gate.notified().await;
    }

    #[stash_while]
    fn is_shy(&self, message: &ShyMessage) -> bool {
        !self.is_ready && matches!(message, ShyMessage::Place { .. })
    }
}

/// The suspect of the second queue is behind messages that fill more than half of the window, and the first of
/// these takes long.
#[supervise::test]
async fn a_queue_that_has_no_room_for_its_suspect_does_not_hold_up_those_of_others(system: &TestSystem) {
    let (first, second, third) = (World::default(), World::default(), World::default());
    let spawn = |system: &TestSystem, is_ready| {
        let first = first.spawn_as(system, "first");
        let world = second.clone();
        let shy =
            system.spawn("second", move || Shy { is_ready, world: world.clone() }).expect("the name is free");
        (first, shy, third.spawn_as(system, "third"))
    };
    let (one, shy, three) = spawn(system, false);
    one.place(that(1, Does::Wait)).accepted().await.expect("the store works");
    for number in 1..=3 {
        shy.place(number).accepted().await.expect("the store works");
    }
    shy.wait().accepted().await.expect("the store works");
    three.place(that(1, Does::Hang)).accepted().await.expect("the store works");
    system.settle().await;
    // All three are charged. The first one is tried.
    let charged = system.crash(Crash::Process).await;
    spawn(&charged, false);
    charged.settle().await;
    let last = charged.crash(Crash::Process).await;
    spawn(&last, true);
    last.settle().await;
    assert_eq!((first.begun(), second.begun(), third.begun()), (vec![1, 1, 1], vec![1], vec![1]));
    first.gate.notify_one();
    last.advance(std::time::Duration::from_secs(31)).await;
    assert_eq!(third.begun(), [1, 1], "the third queue waits although nothing is tried");
}
