//! Random programs: batches, stashes, failures, stops, outages and crashes. `DURABLE_SEEDS` is the number of
//! seeds, and `DURABLE_SEED` is the first one.
//!
//! Rules 27.1, 27.4, 27.6, 27.7, 27.9 and 27.10.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::durable::{Fate, Quarantined};
use supervise::prelude::*;
use supervise::testkit::{self, Crash, Fault, TestSystem};
use supervise::{Directive, Props, Strategy};

/// What outlives the processes.
#[derive(Clone, Default)]
struct World(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// From now on, every handler returns.
    is_calm: AtomicBool,
    /// Decides what happens to an actor that fails.
    random: Mutex<fastrand::Rng>,
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
                4 if number % 5 == 0 => std::future::pending().await,
                _ => {}
            }
        }
        Ok(())
    }

    fn decides(&self) -> Directive {
        match self.0.random.lock().expect("nobody panics with it").u32(0..8) {
            0 => Directive::Stop,
            1 => Directive::Resume,
            _ => Directive::Restart,
        }
    }

    fn ends(&self, queue: &'static str, numbers: &[u32]) {
        self.log(queue, |log| log.handled.extend(numbers));
    }
}

/// Whether the message with this number causes no failure.
fn is_innocent(number: u32) -> bool {
    !matches!(number % 9, 0 | 1 | 4)
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
        self.gathered(&numbers, ctx).await
    }

    #[handler(batch = 3, linger = "20ms")]
    async fn slow(&mut self, numbers: Vec<u32>, ctx: &mut Context<Self>) -> Result<(), Bad> {
        self.gathered(&numbers, ctx).await
    }
}

impl Straight {
    async fn gathered(&self, numbers: &[u32], ctx: &mut Context<Self>) -> Result<(), Bad> {
        let delivery = ctx.delivery().expect("it is stored");
        let last = numbers.last().copied();
        for number in numbers {
            let first = (Some(*number) == last).then(|| (delivery.attempt(), delivery.after_crash()));
            self.world.begins(self.queue, *number, first, true);
        }
        self.world.does(numbers, delivery.attempt()).await?;
        self.world.ends(self.queue, numbers);
        Ok(())
    }
}

#[actor(mailbox = durable(window = 5, capacity = 500, redeliver = 2, crashes = 50), stash = 4)]
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
        assert!(number % 19 != 7 || self.world.calm(), "as told");
        // Up to four of them, as many as fit beside the one that opens them.
        number % 5 != 4 && *number > self.opens && !self.world.calm()
    }
}

/// Decides at random what happens to an actor that fails.
#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Yard {
    world: World,
}

#[actor]
impl Yard {
    #[handler]
    fn straight(&mut self, queue: &'static str, ctx: &mut Context<Self>) -> Reply<Option<StraightRef>> {
        let world = self.world.clone();
        let props = Props::new(move || Straight { queue, world: world.clone() }).queue(queue);
        Reply(ctx.spawn_with(queue, props).ok())
    }

    #[handler]
    fn sideways(&mut self, ctx: &mut Context<Self>) -> Reply<Option<SidewaysRef>> {
        let world = self.world.clone();
        let props = Props::new(move || Sideways { queue: "side", world: world.clone(), opens: 0 }).queue("side");
        Reply(ctx.spawn_with("side", props).ok())
    }
}

struct Running {
    yard: YardRef,
    straight: Vec<StraightRef>,
    sideways: SidewaysRef,
}

const QUEUES: [&str; 2] = ["one", "two"];

impl Running {
    async fn start(system: &TestSystem, world: &World) -> Self {
        let (inner, decider) = (world.clone(), world.clone());
        let props = Props::new(move || Yard { world: inner.clone() })
            .supervision_unchecked(Strategy::one_for_one(), move |_, _| Ok(decider.decides()));
        let yard = system.spawn_with("yard", props).expect("the name is free");
        let mut straight = Vec::new();
        for queue in QUEUES {
            straight.push(yard.straight(queue).await.expect("it answers").expect("the name is free"));
        }
        let sideways = yard.sideways().await.expect("it answers").expect("the name is free");
        Self { yard, straight, sideways }
    }

    /// Spawns those again that have ended.
    async fn again(&mut self) {
        for (queue, actor) in QUEUES.into_iter().zip(&mut self.straight) {
            if actor.actor_ref().has_ended()
                && let Some(again) = self.yard.straight(queue).await.expect("it answers")
            {
                *actor = again;
            }
        }
        if self.sideways.actor_ref().has_ended()
            && let Some(again) = self.yard.sideways().await.expect("it answers")
        {
            self.sideways = again;
        }
    }
}

async fn program(system: &TestSystem, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let world = World::default();
    world.0.random.lock().expect("nobody panics with it").seed(seed);
    system.allow_dead_letters();
    let mut accepted: BTreeMap<&'static str, Arc<Mutex<BTreeSet<u32>>>> = BTreeMap::new();
    let mut next: Option<TestSystem> = None;
    let mut running = Running::start(system, &world).await;
    let mut numbers = 0;
    for _ in 0..random.usize(20..120) {
        let now = next.as_ref().unwrap_or(system);
        match random.u32(0..100) {
            0..50 => {
                let how = random.u32(0..4);
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
                            let stored = match how {
                                0 => actor.many(number).accepted().await,
                                1 => actor.slow(number).accepted().await,
                                _ => actor.one(number).accepted().await,
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
                let actor = running.straight[random.usize(0..2)].actor_ref().clone();
                if random.bool() {
                    actor.stop();
                } else {
                    actor.kill();
                }
                now.advance(Duration::from_millis(random.u64(0..20))).await;
                now.store().release();
                now.advance(Duration::from_secs(70)).await;
                running.again().await;
            }
            94 => running.again().await,
            roll => {
                let crash = if roll < 98 { Crash::Process } else { Crash::Power };
                let after = now.crash(crash).await;
                after.allow_dead_letters();
                running = Running::start(&after, &world).await;
                next = Some(after);
            }
        }
    }
    // Handlers that hang end with the process.
    let now = next.as_ref().unwrap_or(system);
    let last = now.crash(Crash::Process).await;
    last.allow_dead_letters();
    world.0.is_calm.store(true, Ordering::Relaxed);
    let _running = Running::start(&last, &world).await;
    for _ in 0..60 {
        last.advance(Duration::from_secs(40)).await;
    }
    let rows = last.store().queues().await.expect("the store works");
    assert!(rows.iter().all(|row| row.waiting == 0), "seed {seed}: {rows:?}");
    for (queue, accepted) in accepted {
        let confined = last.store().quarantined(queue).await.unwrap_or_default();
        let is_to_blame = |one: &&Quarantined| QUEUES.contains(&queue) && one.fate == Fate::Failed;
        for one in confined.iter().filter(is_to_blame) {
            let text = one.message.arguments().to_string();
            let number = text.trim_end_matches('}').rsplit(' ').next().and_then(|number| number.parse().ok());
            let number = number.unwrap_or_else(|| panic!("seed {seed}, queue {queue}: {text}"));
            assert!(!is_innocent(number), "seed {seed}, queue {queue}: {number} answers for others");
        }
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
