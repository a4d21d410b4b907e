//! The most used paths of `supervise`, one operation at a time, to compare one state of the code with another.
//!
//! ```sh
//! cargo bench --no-default-features -- --save-baseline before
//! cargo bench --no-default-features -- --baseline before
//! ```

use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use supervise::prelude::*;
use tokio::runtime::{Builder, Runtime};

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

#[actor]
#[supervise(one_for_one, on(AsTold) = Restart, on(SpawnError) = Stop)]
struct Worker {
    total: u64,
}

#[actor]
impl Worker {
    #[handler]
    fn add(&mut self, amount: u64) {
        self.total += amount;
    }

    #[handler]
    fn total(&self) -> u64 {
        self.total
    }

    #[handler]
    fn fail(&mut self) -> Result<(), AsTold> {
        Err(AsTold)
    }

    #[handler]
    fn hire(&mut self, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn_anonymous(|| Self { total: 0 })
    }
}

/// One thread, so that the figures repeat.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// A worker with a parent that restarts it.
async fn worker() -> (ActorSystem, WorkerRef, WorkerRef) {
    let system = ActorSystem::new("paths");
    let parent = system.spawn("parent", || Worker { total: 0 }).expect("a free name");
    let child = parent.hire().await.expect("a parent that runs");
    child.total().await.expect("an answer");
    (system, parent, child)
}

fn messages(criterion: &mut Criterion) {
    let runtime = runtime();
    let (_system, _parent, worker) = runtime.block_on(worker());
    let mut group = criterion.benchmark_group("messages");

    group.throughput(Throughput::Elements(256));
    group.bench_function("256 tells", |bencher| {
        bencher.to_async(&runtime).iter(async || {
            for _ in 0..256 {
                worker.add(1).tell().expect("a worker that runs");
            }
            tokio::task::yield_now().await;
        });
    });

    group.throughput(Throughput::Elements(1));
    group.bench_function("ask", |bencher| {
        bencher.to_async(&runtime).iter(async || worker.total().await.expect("an answer"));
    });
    group.finish();
}

fn lives(criterion: &mut Criterion) {
    let runtime = runtime();
    let (system, parent, worker) = runtime.block_on(worker());
    let mut group = criterion.benchmark_group("lives");

    group.bench_function("restart by Err", |bencher| {
        bencher.to_async(&runtime).iter(async || {
            worker.fail().tell().expect("a worker that runs");
            worker.total().await.expect("an answer")
        });
    });

    group.bench_function("spawn and stop", |bencher| {
        bencher.to_async(&runtime).iter(async || {
            let child = parent.hire().await.expect("a parent that runs");
            child.actor_ref().stop();
            while !child.actor_ref().has_ended() {
                tokio::task::yield_now().await;
            }
        });
    });

    group.bench_function("watch until the end", |bencher| {
        bencher.to_async(&runtime).iter_batched(
            || runtime.block_on(async { parent.hire().await.expect("a parent that runs") }),
            async |child| {
                child.actor_ref().stop();
                system.ended(&child).await
            },
            BatchSize::SmallInput,
        );
    });

    group.bench_function("system, started and terminated", |bencher| {
        bencher.to_async(&runtime).iter_custom(async |times| {
            let mut elapsed = Duration::ZERO;
            for _ in 0..times {
                let began = Instant::now();
                ActorSystem::new("short").terminate().await;
                elapsed += began.elapsed();
            }
            elapsed
        });
    });
    group.finish();
}

criterion_group!(benches, messages, lives);
criterion_main!(benches);
