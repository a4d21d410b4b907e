//! The workloads, each the same for all frameworks. The documentation of each one says what it measures.
//!
//! Each workload checks its answer, which proves that the measured work has happened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::framework::{Cause, Family, Flavour, Framework, Group, Node, Parcel, Probe, TreeProbes, nodes};
use crate::measure::{Stopwatch, nanoseconds_per, resident_bytes};
use crate::scale::Scale;
use crate::services::{BATCH, KEYS, TOGETHER};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workload {
    /// One task tells a counter, and lets others run after every 256 messages.
    Tell1,
    /// The same with four tasks.
    Tell4,
    /// One task tells a counter millions of messages without yielding.
    TellFlood,
    /// Four tasks send messages of 64 bytes to 16 actors at random. Every 16th time they ask instead of tell.
    Mixed,
    /// Four tasks wait for room in a mailbox of 1024 messages.
    TellBounded,
    /// One task asks a counter again and again.
    Ask,
    /// The same with 64 tasks.
    Ask64,
    /// One task asks a counter that lets its askers run the handler, if the framework has such a feature.
    AskInline,
    /// The same with 64 tasks.
    Ask64Inline,
    /// An actor asks all its children at once and waits for their answers.
    Fan,
    /// 64 tasks ask an actor that keeps the places of their replies and answers all of them together.
    AskTogether,
    /// An actor starts a future for each message, and adds up their results.
    Pipe,
    /// One task looks up an actor by its key for each message that it tells.
    Lookup,
    /// Four tasks tell an actor that handles up to 100 messages at once.
    Batch,
    /// Two actors pass a message to and fro.
    PingPong,
    /// 1000 actors pass a message round.
    Ring,
    /// From the spawn of an actor until each of its children has started.
    SpawnWide,
    /// The same for a tree in which each actor has ten children.
    SpawnTree,
    /// Resident memory of actors that have started and wait.
    Idle,
    /// From the message that makes a child fail with an error until the restarted child has answered the next one.
    RestartByError,
    /// The same for a panic.
    RestartByPanic,
    /// The same for an error of one child among many, another one each time.
    RestartAmongMany,
    /// From the failure of one child until all have started again.
    AllForOne,
    /// From the stop of a tree's root until every actor of it has ended.
    StopTree,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Milliseconds,
    Bytes,
}

impl Workload {
    pub const ALL: [Self; 24] = [
        Self::Tell1,
        Self::Tell4,
        Self::TellFlood,
        Self::Mixed,
        Self::TellBounded,
        Self::Ask,
        Self::Ask64,
        Self::AskInline,
        Self::Ask64Inline,
        Self::Fan,
        Self::AskTogether,
        Self::Pipe,
        Self::Lookup,
        Self::Batch,
        Self::PingPong,
        Self::Ring,
        Self::SpawnWide,
        Self::SpawnTree,
        Self::Idle,
        Self::RestartByError,
        Self::RestartByPanic,
        Self::RestartAmongMany,
        Self::AllForOne,
        Self::StopTree,
    ];

    /// For the command line.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tell1 => "tell-1",
            Self::Tell4 => "tell-4",
            Self::TellFlood => "tell-flood",
            Self::Mixed => "mixed",
            Self::TellBounded => "tell-bounded",
            Self::Ask => "ask",
            Self::Ask64 => "ask-64",
            Self::AskInline => "ask-inline",
            Self::Ask64Inline => "ask-64-inline",
            Self::Fan => "fan",
            Self::AskTogether => "ask-together",
            Self::Pipe => "pipe",
            Self::Lookup => "lookup",
            Self::Batch => "batch",
            Self::PingPong => "ping-pong",
            Self::Ring => "ring",
            Self::SpawnWide => "spawn-wide",
            Self::SpawnTree => "spawn-tree",
            Self::Idle => "idle",
            Self::RestartByError => "restart-error",
            Self::RestartByPanic => "restart-panic",
            Self::RestartAmongMany => "restart-among-many",
            Self::AllForOne => "all-for-one",
            Self::StopTree => "stop-tree",
        }
    }

    /// For the table.
    pub fn title(self, scale: &Scale) -> String {
        match self {
            Self::Tell1 => "tell, 1 producer (ns/message)".to_owned(),
            Self::Tell4 => "tell, 4 producers (ns/message)".to_owned(),
            Self::TellFlood => format!("tell, 1 producer, {} without a pause (ns/message)", scale.flood),
            Self::Mixed => {
                format!("tell and ask (1 in {ASK_ONE_IN}), 4 producers, {STORES} actors, 64 bytes (ns/message)")
            }
            Self::TellBounded => format!("tell, 4 producers, bounded({}) (ns/message)", scale.capacity),
            Self::Ask => "ask, sequential (ns/round trip)".to_owned(),
            Self::Ask64 => "ask, 64 askers (ns/round trip)".to_owned(),
            Self::AskInline => "ask, sequential, `#[handler(inline)]` (ns/round trip)".to_owned(),
            Self::Ask64Inline => "ask, 64 askers, `#[handler(inline)]` (ns/round trip)".to_owned(),
            Self::Fan => format!("an actor asks {} children at once (ns/ask)", scale.fan),
            Self::AskTogether => format!("ask, {TOGETHER} askers, answered together (ns/round trip)"),
            Self::Pipe => "a future for each message (ns/message)".to_owned(),
            Self::Lookup => format!("tell by key, {KEYS} keys (ns/message)"),
            Self::Batch => format!("tell, 4 producers, in batches of up to {BATCH} (ns/message)"),
            Self::PingPong => "ping-pong (ns/message)".to_owned(),
            Self::Ring => format!("ring of {} (ns/hop)", scale.ring),
            Self::SpawnWide => format!("spawn {} under one parent (ns/actor)", scale.children),
            Self::SpawnTree => format!("spawn tree of {} (ns/actor)", nodes(10, scale.depth)),
            Self::Idle => "idle actor (resident bytes)".to_owned(),
            Self::RestartByError => "restart by `Err` (ns, fail → next answer)".to_owned(),
            Self::RestartByPanic => "restart by panic (ns, fail → next answer)".to_owned(),
            Self::RestartAmongMany => format!("1 failure among {} siblings (ns)", scale.siblings),
            Self::AllForOne => format!("all-for-one restart of {} (ms)", scale.siblings),
            Self::StopTree => format!("ordered stop of {} (ns/actor)", nodes(10, scale.depth)),
        }
    }

    pub fn unit(self) -> Unit {
        match self {
            Self::Idle => Unit::Bytes,
            Self::AllForOne => Unit::Milliseconds,
            _ => Unit::Nanoseconds,
        }
    }

    /// Whether it measures what a service needs beside plain messages, see [`services`](crate::services).
    pub fn is_of_services(self) -> bool {
        matches!(self, Self::AskTogether | Self::Pipe | Self::Lookup | Self::Batch)
    }

    /// The runtime makes no difference to the memory.
    pub fn flavours(self) -> &'static [Flavour] {
        if self == Self::Idle { &[Flavour::CurrentThread] } else { &Flavour::ALL }
    }

    /// Runs the workload once, in a process that has done nothing else.
    pub fn measure<F: Framework>(self, flavour: Flavour, scale: Scale) -> f64 {
        F::block_on(flavour, async move {
            let framework = F::start(flavour);
            match self {
                Self::Tell1 => tell(&framework, 1, scale.messages, YIELD_AFTER, &scale).await,
                Self::Tell4 => tell(&framework, 4, scale.messages, YIELD_AFTER, &scale).await,
                Self::TellFlood => tell(&framework, 1, scale.flood, u64::MAX, &scale).await,
                Self::Mixed => mixed(&framework, 4, &scale).await,
                Self::TellBounded => tell_bounded(&framework, 4, &scale).await,
                Self::Ask => ask(&framework, 1, false, &scale).await,
                Self::Ask64 => ask(&framework, 64, false, &scale).await,
                Self::AskInline => ask(&framework, 1, true, &scale).await,
                Self::Ask64Inline => ask(&framework, 64, true, &scale).await,
                Self::Fan => fan(&framework, &scale).await,
                Self::AskTogether | Self::Pipe | Self::Lookup | Self::Batch => unreachable!("see `services`"),
                Self::PingPong => ring(&framework, 2, &scale).await,
                Self::Ring => ring(&framework, scale.ring, &scale).await,
                Self::SpawnWide => spawn_wide(&framework, &scale).await,
                Self::SpawnTree => spawn_tree(&framework, &scale).await,
                Self::Idle => idle(&framework, scale.children).await,
                Self::RestartByError => restart(&framework, 1, Cause::Error, &scale).await,
                Self::RestartByPanic => restart(&framework, 1, Cause::Panic, &scale).await,
                Self::RestartAmongMany => restart(&framework, scale.siblings, Cause::Error, &scale).await,
                Self::AllForOne => all_for_one(&framework, &scale).await,
                Self::StopTree => stop(&framework, &scale).await,
            }
        })
    }
}

/// So that a mailbox does not grow without bound where actor and producer share a thread.
pub const YIELD_AFTER: u64 = 256;

async fn tell<F: Framework>(framework: &F, producers: u64, messages: u64, yield_after: u64, scale: &Scale) -> f64 {
    let counter = framework.counter().await;
    let each = messages / producers;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut told = 0;
    while stopwatch.goes_on() {
        let producers = (0..producers).map(|_| {
            let counter = counter.clone();
            tokio::spawn(async move {
                for n in 1..=each {
                    F::add(&counter, 1).await;
                    if n % yield_after == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        });
        told += join(producers.collect()).await * each;
        handled::<F>(&counter, told).await;
        stopwatch.count_to(told);
    }
    stopwatch.nanoseconds_per_operation()
}

/// One of this many messages is an ask.
const ASK_ONE_IN: u64 = 16;
/// How many actors get the messages.
const STORES: usize = 16;

async fn mixed<F: Framework>(framework: &F, producers: u64, scale: &Scale) -> f64 {
    const FULL: Parcel = [1; 8];
    let stores: Arc<[F::Store]> = framework.stores(STORES).await.into();
    let each = scale.messages / producers;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut sent = 0;
    while stopwatch.goes_on() {
        let producers = (0..producers).map(|producer| {
            let stores = Arc::clone(&stores);
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(producer);
                for n in 1..=each {
                    let store = &stores[random.usize(..STORES)];
                    if n % ASK_ONE_IN == 0 {
                        assert!(F::put_and_total(store, FULL).await >= 8, "this parcel at least");
                    } else {
                        F::put(store, FULL).await;
                    }
                }
            })
        });
        sent += join(producers.collect()).await * each;
        let told = sent * FULL.iter().sum::<u64>();
        // As in `handled`.
        loop {
            let mut total = 0;
            for store in stores.iter() {
                total += F::put_and_total(store, [0; 8]).await;
            }
            assert!(total <= told, "{} handled {total} of {told}", F::NAME);
            if total == told {
                break;
            }
            assert!(!F::KEEPS_ORDER, "{} lost messages: {total} of {told} handled", F::NAME);
            tokio::task::yield_now().await;
        }
        stopwatch.count_to(sent);
    }
    stopwatch.nanoseconds_per_operation()
}

async fn tell_bounded<F: Framework>(framework: &F, producers: u64, scale: &Scale) -> f64 {
    let counter = framework.bounded_counter(scale.capacity).await;
    let each = scale.messages / producers;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut told = 0;
    while stopwatch.goes_on() {
        let producers = (0..producers).map(|_| {
            let counter = counter.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    F::add_when_room(&counter, 1).await;
                }
            })
        });
        told += join(producers.collect()).await * each;
        handled::<F>(&counter, told).await;
        stopwatch.count_to(told);
    }
    stopwatch.nanoseconds_per_operation()
}

/// Waits until a counter has handled what it was told. Where order is kept, the first answer says so.
async fn handled<F: Framework>(counter: &F::Counter, told: u64) {
    loop {
        let total = F::total(counter).await;
        assert!(total <= told, "{} handled {total} messages of {told}", F::NAME);
        if total == told {
            return;
        }
        assert!(!F::KEEPS_ORDER, "{} lost messages: {total} of {told} handled", F::NAME);
        tokio::task::yield_now().await;
    }
}

/// Waits for all, and says how many they were.
pub async fn join(tasks: Vec<JoinHandle<()>>) -> u64 {
    let count = tasks.len() as u64;
    for task in tasks {
        task.await.expect("a task that does not panic");
    }
    count
}

async fn ask<F: Framework>(framework: &F, askers: u64, inline: bool, scale: &Scale) -> f64 {
    let counter = framework.counter().await;
    F::add(&counter, 7).await;
    handled::<F>(&counter, 7).await;
    let each = (scale.asks / askers).max(1);
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut asked = 0;
    while stopwatch.goes_on() {
        let askers = (0..askers).map(|_| {
            let counter = counter.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    let total = if inline { F::total_inline(&counter).await } else { F::total(&counter).await };
                    assert_eq!(total, 7);
                }
            })
        });
        asked += join(askers.collect()).await * each;
        stopwatch.count_to(asked);
    }
    stopwatch.nanoseconds_per_operation()
}

async fn fan<F: Framework>(framework: &F, scale: &Scale) -> f64 {
    let children = scale.fan as u64;
    let editor = framework.editor(scale.fan).await;
    while F::gather(&editor).await != children {
        assert!(!F::KEEPS_ORDER, "{}: the children were told first", F::NAME);
    }
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut asked = 0;
    while stopwatch.goes_on() {
        for _ in 0..scale.gathers {
            assert_eq!(F::gather(&editor).await, children);
            asked += children;
        }
        stopwatch.count_to(asked);
    }
    stopwatch.nanoseconds_per_operation()
}

async fn ring<F: Framework>(framework: &F, runners: usize, scale: &Scale) -> f64 {
    let (done, mut is_done) = mpsc::unbounded_channel();
    let runner = framework.ring(runners, done).await;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut hops = 0;
    while stopwatch.goes_on() {
        F::run(&runner, scale.hops).await;
        is_done.recv().await.expect("runners that live as long as their ring");
        hops += scale.hops;
        stopwatch.count_to(hops);
    }
    stopwatch.nanoseconds_per_operation()
}

/// Warms up with a tree, and runs only one round, because some frameworks take minutes to stop this many children.
async fn spawn_wide<F: Framework>(framework: &F, scale: &Scale) -> f64 {
    spawn_and_stop(framework, Node::root(10, scale.depth)).await;
    let root = Node::root(scale.children, 1);
    let probes = root.probes();
    let began = Instant::now();
    let tree = framework.tree(root).await;
    probes.started.reached().await;
    let elapsed = began.elapsed();
    drop(tree);
    nanoseconds_per(elapsed, nodes(scale.children, 1) as u64)
}

async fn spawn_tree<F: Framework>(framework: &F, scale: &Scale) -> f64 {
    spawn_and_stop(framework, Node::root(10, scale.depth)).await;
    let mut elapsed = Duration::ZERO;
    let mut spawned = 0;
    while elapsed < scale.budget {
        elapsed += spawn_and_stop(framework, Node::root(10, scale.depth)).await;
        spawned += nodes(10, scale.depth) as u64;
    }
    nanoseconds_per(elapsed, spawned)
}

/// Says how long the spawn took, not the stop.
async fn spawn_and_stop<F: Framework>(framework: &F, root: Node) -> Duration {
    let probes = root.probes();
    let began = Instant::now();
    let tree = framework.tree(root).await;
    probes.started.reached().await;
    let elapsed = began.elapsed();
    settle().await;
    stop_tree::<F>(tree, &probes).await;
    settle().await;
    elapsed
}

async fn stop<F: Framework>(framework: &F, scale: &Scale) -> f64 {
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut stopped = 0;
    while stopwatch.goes_on() {
        stopwatch.pause();
        let root = Node::root(10, scale.depth);
        let probes = root.probes();
        let tree = framework.tree(root).await;
        probes.started.reached().await;
        settle().await;
        stopwatch.resume();
        stop_tree::<F>(tree, &probes).await;
        stopped += nodes(10, scale.depth) as u64;
        stopwatch.count_to(stopped);
    }
    stopwatch.nanoseconds_per_operation()
}

async fn stop_tree<F: Framework>(mut tree: F::Tree, probes: &TreeProbes) {
    F::stop(&mut tree).await;
    probes.ended.reached().await;
    if F::CHILDREN_END_FIRST {
        assert_eq!(probes.ended_before_root() + 1, probes.ended.count(), "the root ends last");
    }
}

/// Actors that have reported their start or end still have to come to rest.
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

async fn idle<F: Framework>(framework: &F, children: usize) -> f64 {
    let root = Node::root(children, 1);
    let probes = root.probes();
    let before = resident_bytes();
    let tree = framework.tree(root).await;
    probes.started.reached().await;
    settle().await;
    let after = resident_bytes();
    drop(tree);
    after.saturating_sub(before) as f64 / nodes(children, 1) as f64
}

async fn restart<F: Framework>(framework: &F, children: usize, cause: Cause, scale: &Scale) -> f64 {
    let starts = Probe::new(children);
    let mut family = framework.family(children, Group::OneForOne, &starts).await;
    starts.reached().await;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut failures = 0;
    let mut child = 0;
    while stopwatch.goes_on() {
        for _ in 0..scale.failures {
            family.fail(child, cause).await;
            assert_eq!(family.total(child).await, 0);
            // Far from the last one, so that each is about as cold.
            child = (child + 7919) % children;
            failures += 1;
        }
        stopwatch.count_to(failures);
    }
    assert_eq!(starts.count() as u64, children as u64 + failures, "each failure is one restart");
    stopwatch.nanoseconds_per_operation()
}

/// Milliseconds for all children.
async fn all_for_one<F: Framework>(framework: &F, scale: &Scale) -> f64 {
    let children = scale.siblings;
    let starts = Probe::new(children);
    let mut family = framework.family(children, Group::AllForOne, &starts).await;
    starts.reached().await;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut failures = 0;
    while stopwatch.goes_on() {
        starts.expect_more(children);
        family.fail(children / 2, Cause::Error).await;
        starts.reached().await;
        failures += 1;
        stopwatch.count_to(failures);
        stopwatch.pause();
        assert_eq!(family.total(0).await, 0);
        stopwatch.resume();
    }
    assert_eq!(starts.count() as u64, children as u64 * (1 + failures), "each failure restarts all");
    stopwatch.nanoseconds_per_operation() / 1e6
}
