//! Workloads for what a service needs besides plain messages: answers that come later, futures, actors by key, batches.
//! Only `raw` and `supervise` run them, because the other frameworks have no such features.

mod raw;
mod supervise;

use std::future::Future;

use crate::framework::{Flavour, Framework};
use crate::measure::Stopwatch;
use crate::scale::Scale;
use crate::workload::{Workload, YIELD_AFTER, join, settle};

/// What these workloads require of a framework.
pub trait Services: Framework {
    /// How a desk is reached: an actor that answers later, see the methods below.
    type Desk: Clone + Send + Sync + 'static;

    /// A desk.
    fn desk(&self) -> impl Future<Output = Self::Desk> + Send;

    /// Asks a desk, which answers when [`TOGETHER`] askers wait, with their number.
    fn wait_together(desk: &Self::Desk) -> impl Future<Output = u64> + Send;

    /// Tells a desk to start a future that returns `amount`, and to add that up when it is there.
    fn fetch(desk: &Self::Desk, amount: u64) -> impl Future<Output = ()> + Send;

    /// Asks a desk for that sum.
    fn fetched(desk: &Self::Desk) -> impl Future<Output = u64> + Send;

    /// Counters by their keys.
    type Registry: Clone + Send + Sync + 'static;

    /// An empty registry.
    fn registry(&self) -> impl Future<Output = Self::Registry> + Send;

    /// Tells the counter of a key to add `amount`, and creates it if it does not exist.
    fn add_by_key(registry: &Self::Registry, key: u64, amount: u64) -> impl Future<Output = ()> + Send;

    /// Asks the counter of a key for its sum.
    fn total_by_key(registry: &Self::Registry, key: u64) -> impl Future<Output = u64> + Send;

    /// How a writer is reached: an actor that handles up to [`BATCH`] messages at once.
    type Writer: Clone + Send + Sync + 'static;

    /// A writer.
    fn writer(&self) -> impl Future<Output = Self::Writer> + Send;

    /// Tells a writer to add `amount`.
    fn write(writer: &Self::Writer, amount: u64) -> impl Future<Output = ()> + Send;

    /// Asks a writer for its sum.
    fn written(writer: &Self::Writer) -> impl Future<Output = u64> + Send;
}

/// Runs a workload of this file once, in a process that has done nothing else.
pub fn measure<F: Services>(workload: Workload, flavour: Flavour, scale: Scale) -> f64 {
    F::block_on(flavour, async move {
        let framework = F::start(flavour);
        match workload {
            Workload::AskTogether => ask_together(&framework, &scale).await,
            Workload::Pipe => pipe(&framework, &scale).await,
            Workload::Lookup => lookup(&framework, &scale).await,
            Workload::Batch => batch(&framework, 4, &scale).await,
            _ => unreachable!("see `Workload::is_of_services`"),
        }
    })
}

/// How many askers are answered together.
pub const TOGETHER: u64 = 64;

async fn ask_together<F: Services>(framework: &F, scale: &Scale) -> f64 {
    let desk = framework.desk().await;
    let each = (scale.asks / TOGETHER).max(1);
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut asked = 0;
    while stopwatch.goes_on() {
        let askers = (0..TOGETHER).map(|_| {
            let desk = desk.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    assert_eq!(F::wait_together(&desk).await, TOGETHER);
                }
            })
        });
        asked += join(askers.collect()).await * each;
        stopwatch.count_to(asked);
    }
    stopwatch.nanoseconds_per_operation()
}

async fn pipe<F: Services>(framework: &F, scale: &Scale) -> f64 {
    let desk = framework.desk().await;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut told = 0;
    while stopwatch.goes_on() {
        for n in 1..=scale.asks {
            F::fetch(&desk, 1).await;
            if n % YIELD_AFTER == 0 {
                tokio::task::yield_now().await;
            }
        }
        told += scale.asks;
        while F::fetched(&desk).await < told {
            tokio::task::yield_now().await;
        }
        assert_eq!(F::fetched(&desk).await, told);
        stopwatch.count_to(told);
    }
    stopwatch.nanoseconds_per_operation()
}

/// How many actors there are, each with a key of its own.
pub const KEYS: u64 = 10_000;

async fn lookup<F: Services>(framework: &F, scale: &Scale) -> f64 {
    let registry = framework.registry().await;
    for key in 0..KEYS {
        F::add_by_key(&registry, key, 0).await;
    }
    settle().await;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut told = 0;
    let mut random = fastrand::Rng::with_seed(1);
    while stopwatch.goes_on() {
        for n in 1..=scale.messages {
            F::add_by_key(&registry, random.u64(..KEYS), 1).await;
            if n % YIELD_AFTER == 0 {
                tokio::task::yield_now().await;
            }
        }
        told += scale.messages;
        stopwatch.count_to(told);
    }
    let nanoseconds = stopwatch.nanoseconds_per_operation();
    let mut total = 0;
    for key in 0..KEYS {
        total += F::total_by_key(&registry, key).await;
    }
    assert_eq!(total, told, "{} lost messages", F::NAME);
    nanoseconds
}

/// How many messages are handled at once at most.
pub const BATCH: usize = 100;

async fn batch<F: Services>(framework: &F, producers: u64, scale: &Scale) -> f64 {
    let writer = framework.writer().await;
    let each = scale.messages / producers;
    let mut stopwatch = Stopwatch::new(scale.budget);
    let mut told = 0;
    while stopwatch.goes_on() {
        let producers = (0..producers).map(|_| {
            let writer = writer.clone();
            tokio::spawn(async move {
                for n in 1..=each {
                    F::write(&writer, 1).await;
                    if n % YIELD_AFTER == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        });
        told += join(producers.collect()).await * each;
        assert_eq!(F::written(&writer).await, told);
        stopwatch.count_to(told);
    }
    stopwatch.nanoseconds_per_operation()
}
