//! Random programs: batches, stashes, failures, stops, outages and crashes. `DURABLE_SEEDS` says how many, and `DURABLE_SEED` is the first.
//!
//! Rules 27.1, 27.4, 27.6, 27.7, 27.9 and 27.10.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::Props;
use supervise::prelude::*;
use supervise::testkit::{self, Crash, Fault, TestSystem};

/// What outlives the processes.
#[derive(Clone, Default)]
struct World(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// From now on, every handler returns.
    is_calm: AtomicBool,
    queues: Mutex<BTreeMap<&'static str, Log>>,
}

/// What happened to the messages of one queue.
#[derive(Default)]
struct Log {
    begun: BTreeSet<u32>,
    handled: BTreeSet<u32>,
    /// The highest number that has begun, of each sender.
    highest: u32,
    broken: Vec<String>,
}

impl World {
    fn calm(&self) -> bool {
        self.0.is_calm.load(Ordering::Relaxed)
    }

    fn log<T>(&self, queue: &'static str, note: impl FnOnce(&mut Log) -> T) -> T {
        note(self.0.queues.lock().expect("nobody panics with it").entry(queue).or_default())
    }

    fn begins(&self, queue: &'static str, number: u32, first: Option<(u32, bool)>, in_order: bool) {
        self.log(queue, |log| {
            let is_new = log.begun.insert(number);
            if !is_new && first == Some((1, false)) {
                log.broken.push(format!("{number} comes again as if nobody had begun it"));
            }
            if is_new && in_order && number < log.highest {
                log.broken.push(format!("{number} begins first after {}", log.highest));
            }
            log.highest = log.highest.max(number);
        });
    }

    async fn does(&self, numbers: &[u32], attempt: u32) -> Result<(), Bad> {
        for number in numbers.iter().filter(|_| !self.calm()) {
            match number % 9 {
                0 if attempt == 1 => return Err(Bad),
                1 if number % 2 == 0 => return Err(Bad),
                2 | 3 => tokio::time::sleep(Duration::from_millis(30)).await,
                4 if number % 3 == 0 => std::future::pending().await,
                _ => {}
            }
        }
        Ok(())
    }

    fn ends(&self, queue: &'static str, numbers: &[u32]) {
        self.log(queue, |log| log.handled.extend(numbers));
    }
}

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct Bad;

#[actor(mailbox = durable(window = 5, capacity = 500, redeliver = 2, crashes = 50))]
struct Straight {
    queue: &'static str,
    world: World,
}

#[actor]
impl Straight {
    #[handler]
    async fn one(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<(), Bad> {
        let delivery = ctx.delivery().expect("it is stored");
        self.world.begins(self.queue, number, Some((delivery.attempt(), delivery.after_crash())), true);
        self.world.does(&[number], delivery.attempt()).await?;
        self.world.ends(self.queue, &[number]);
        Ok(())
    }

    #[handler(batch = 4)]
    async fn many(&mut self, numbers: Vec<u32>, ctx: &mut Context<Self>) -> Result<(), Bad> {
        let delivery = ctx.delivery().expect("it is stored");
        let last = numbers.last().copied();
        for number in &numbers {
            let first = (Some(*number) == last).then(|| (delivery.attempt(), delivery.after_crash()));
            self.world.begins(self.queue, *number, first, true);
        }
        self.world.does(&numbers, delivery.attempt()).await?;
        self.world.ends(self.queue, &numbers);
        Ok(())
    }
}

#[actor(mailbox = durable(window = 5, capacity = 500, redeliver = 2, crashes = 50))]
struct Sideways {
    queue: &'static str,
    world: World,
    opens: u32,
}

#[actor]
impl Sideways {
    #[handler]
    async fn one(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<(), Bad> {
        let delivery = ctx.delivery().expect("it is stored");
        self.world.begins(self.queue, number, None, false);
        self.opens = number;
        self.world.does(&[number], delivery.attempt()).await?;
        self.world.ends(self.queue, &[number]);
        Ok(())
    }

    #[stash_while]
    fn waits(&self, message: &SidewaysMessage) -> bool {
        let SidewaysMessage::One { number } = message;
        // Up to four of them, as many as fit beside the one that opens them.
        number % 5 != 4 && *number > self.opens && !self.world.calm()
    }
}

struct Running {
    straight: Vec<StraightRef>,
    sideways: SidewaysRef,
}

const QUEUES: [&str; 2] = ["one", "two"];

fn start(system: &TestSystem, world: &World) -> Running {
    let spawn = |queue: &'static str| {
        let world = world.clone();
        let props = Props::new(move || Straight { queue, world: world.clone() });
        system.spawn_with(queue, props.queue(queue)).expect("the name is free")
    };
    let world = world.clone();
    let sideways = Props::new(move || Sideways { queue: "side", world: world.clone(), opens: 0 });
    Running {
        straight: QUEUES.map(spawn).into(),
        sideways: system.spawn_with("side", sideways.queue("side")).expect("the name is free"),
    }
}

async fn program(system: &TestSystem, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let world = World::default();
    system.allow_dead_letters();
    let mut accepted: BTreeMap<&'static str, Arc<Mutex<BTreeSet<u32>>>> = BTreeMap::new();
    let mut next: Option<TestSystem> = None;
    let mut running = start(system, &world);
    let mut numbers = 0;
    for _ in 0..random.usize(20..120) {
        let now = next.as_ref().unwrap_or(system);
        match random.u32(0..100) {
            0..50 => {
                let is_batch = random.bool();
                let at = random.usize(0..3);
                for _ in 0..random.u32(1..8) {
                    numbers += 1;
                    let number = numbers;
                    let noted = Arc::clone(accepted.entry(["one", "two", "side"][at]).or_default());
                    let note = move || noted.lock().expect("nobody panics with it").insert(number);
                    if at == 2 {
                        let actor = running.sideways.clone();
                        tokio::spawn(async move { actor.one(number).accepted().await.map(|()| note()) });
                    } else {
                        let actor = running.straight[at].clone();
                        tokio::spawn(async move {
                            let stored = if is_batch {
                                actor.many(number).accepted().await
                            } else {
                                actor.one(number).accepted().await
                            };
                            stored.map(|()| note())
                        });
                    }
                    tokio::task::yield_now().await;
                }
            }
            50..75 => now.advance(Duration::from_millis(random.u64(1..80))).await,
            75..79 => now.store().fail(Fault::Sync),
            79..82 => now.store().fail(Fault::Full),
            82..84 => now.store().fail(Fault::Down),
            84..86 => now.store().hold(),
            86..91 => now.store().release(),
            91..94 => {
                let at = random.usize(0..2);
                running.straight[at].actor_ref().kill();
                now.advance(Duration::from_millis(random.u64(0..20))).await;
                now.store().release();
                now.advance(Duration::from_secs(70)).await;
                if running.straight[at].actor_ref().has_ended() {
                    let (queue, world) = (QUEUES[at], world.clone());
                    let props = Props::new(move || Straight { queue, world: world.clone() });
                    if let Ok(again) = now.spawn_with(queue, props.queue(queue)) {
                        running.straight[at] = again;
                    }
                }
            }
            roll => {
                let crash = if roll < 98 { Crash::Process } else { Crash::Power };
                let after = now.crash(crash).await;
                after.allow_dead_letters();
                running = start(&after, &world);
                next = Some(after);
            }
        }
    }
    // Whatever hangs dies.
    let now = next.as_ref().unwrap_or(system);
    let last = now.crash(Crash::Process).await;
    last.allow_dead_letters();
    world.0.is_calm.store(true, Ordering::Relaxed);
    let _running = start(&last, &world);
    for _ in 0..60 {
        last.advance(Duration::from_secs(40)).await;
    }
    let rows = last.store().queues().await.expect("the store works");
    assert!(rows.iter().all(|row| row.waiting == 0), "seed {seed}: {rows:?}");
    for (queue, accepted) in accepted {
        let confined = last.store().quarantined(queue).await.unwrap_or_default();
        let confined: Vec<String> = confined.iter().map(|one| one.message.arguments().to_string()).collect();
        world.log(queue, |log| {
            assert_eq!(log.broken, Vec::<String>::new(), "seed {seed}, queue {queue}");
            for number in accepted.lock().expect("nobody panics with it").difference(&log.handled) {
                let is_confined = confined.iter().any(|text| text.contains(&format!(": {number}}}")));
                assert!(is_confined, "seed {seed}, queue {queue}: {number} is lost, {confined:?}");
            }
        });
    }
}

#[test]
fn nothing_is_lost_and_nothing_stalls_in_random_programs() {
    let setting = |name: &str, or: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or);
    let first = setting("DURABLE_SEED", 1);
    for seed in first..first + setting("DURABLE_SEEDS", 20) {
        testkit::run(async move |system: &TestSystem| program(system, seed).await);
    }
}
