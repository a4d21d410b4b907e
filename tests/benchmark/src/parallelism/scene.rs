//! The scenes, each the same for `supervise` and for the hand-written loop. Each returns the times that it
//! measures.
//!
//! The scene itself is the future of `Runtime::block_on`: no worker of the runtime runs it. Whatever an actor is meant to do
//! runs in an actor. Between two samples all actors come to rest, so that each sample begins with idle threads.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{block_in_place, spawn_blocking};

use super::Threads::{Current, Workers};
use super::actors::{Actors, LongJob};
use super::stranger::Stranger;
use super::{Extent, Stall, Threads};

/// How many actors are asked beside a long handler.
const SHORT: usize = 16;
/// How many actors are told before a handler blocks.
const TOLD: usize = 100;
/// How often a witness looks, and how long it sleeps between.
const TICK: Duration = Duration::from_millis(1);
/// Samples are bounded in number too.
const MOST_SAMPLES: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scene {
    /// An actor tells an actor that stalls its thread, and asks another one. Measures the time until that one
    /// answers.
    Neighbour(Stall),
    /// Meanwhile code outside asks an actor. Measures the time until it has the answer.
    NeighbourAndStranger(Stranger),
    /// An actor tells as many actors as there are threads a job that blocks. Measures the time until the last
    /// one is done.
    FanOut,
    /// An actor tells 100 others and then blocks. Measures the time until each of them has handled its
    /// message.
    TellThenBlock,
    /// An actor asks others, first after a sleep and then one after another. Whenever a further actor has blocked for this
    /// many milliseconds, it is told to block again. Measures how long the asks take.
    LongAmongShort(u64),
    /// Some thousand actors send messages to themselves for ever. Measures how long a task's sleep of 1 ms
    /// takes.
    TimerBesideBusy,
    /// The same for round trips of an echo over loopback TCP.
    EchoBesideBusy,
    /// A handler asks another actor: `block_in_place` around `Handle::block_on`.
    BlockInPlace,
    /// A handler blocks until a thread has asked another actor by `Handle::block_on`.
    JoinAsker,
    /// The same, but the handler blocks within `block_in_place`.
    JoinAskerInPlace,
    /// An `async` handler waits for a `spawn_blocking` that asks another actor by `Handle::block_on`.
    SpawnBlocking,
    /// Asks from outside while nothing else happens.
    Outside(Stranger),
}

/// For scenes that stall a thread while another one must continue.
const SEVERAL: &[Threads] = &[Workers(2), Workers(4), Workers(8)];
/// For scenes that one worker can finish, but not the current-thread runtime, because `block_in_place` panics
/// there.
const WORKERS: &[Threads] = &[Workers(1), Workers(2), Workers(4), Workers(8)];
const ALL_THREADS: &[Threads] = &[Current, Workers(1), Workers(2), Workers(4), Workers(8)];

impl Scene {
    pub const ALL: [Self; 19] = [
        Self::Neighbour(Stall::Block),
        Self::Neighbour(Stall::Spin),
        Self::NeighbourAndStranger(Stranger::Handle),
        Self::NeighbourAndStranger(Stranger::Runtime),
        Self::NeighbourAndStranger(Stranger::Parking),
        Self::FanOut,
        Self::TellThenBlock,
        Self::LongAmongShort(1),
        Self::LongAmongShort(10),
        Self::LongAmongShort(100),
        Self::TimerBesideBusy,
        Self::EchoBesideBusy,
        Self::BlockInPlace,
        Self::JoinAsker,
        Self::JoinAskerInPlace,
        Self::SpawnBlocking,
        Self::Outside(Stranger::Handle),
        Self::Outside(Stranger::Runtime),
        Self::Outside(Stranger::Parking),
    ];

    /// For the command line and the table.
    pub fn key(self) -> String {
        match self {
            Self::Neighbour(stall) => format!("stalled-neighbour-{}", stall.name()),
            Self::NeighbourAndStranger(stranger) => format!("stalled-stranger-{}", stranger.name()),
            Self::FanOut => "fan-out".to_owned(),
            Self::TellThenBlock => "tell-100-then-block".to_owned(),
            Self::LongAmongShort(milliseconds) => format!("long-among-short-{milliseconds}"),
            Self::TimerBesideBusy => "busy-beside-timer".to_owned(),
            Self::EchoBesideBusy => "busy-beside-echo".to_owned(),
            Self::BlockInPlace => "block-in-place".to_owned(),
            Self::JoinAsker => "join-asker".to_owned(),
            Self::JoinAskerInPlace => "join-asker-in-place".to_owned(),
            Self::SpawnBlocking => "spawn-blocking".to_owned(),
            Self::Outside(stranger) => format!("outside-{}", stranger.name()),
        }
    }

    /// On which runtimes the version with one task per actor finishes.
    pub fn threads(self) -> &'static [Threads] {
        match self {
            Self::Neighbour(_)
            | Self::NeighbourAndStranger(_)
            | Self::FanOut
            | Self::TellThenBlock
            | Self::JoinAsker => SEVERAL,
            Self::BlockInPlace | Self::JoinAskerInPlace => WORKERS,
            Self::LongAmongShort(_)
            | Self::TimerBesideBusy
            | Self::EchoBesideBusy
            | Self::SpawnBlocking
            | Self::Outside(_) => ALL_THREADS,
        }
    }

    pub async fn play<A: Actors>(self, threads: Threads, extent: &Extent) -> Vec<Duration> {
        let actors = A::start();
        match self {
            Self::Neighbour(stall) => neighbour(&actors, stall, extent).await,
            Self::NeighbourAndStranger(stranger) => neighbour_and_stranger(&actors, stranger, extent).await,
            Self::FanOut => fan_out(&actors, threads, extent).await,
            Self::TellThenBlock => tell_then_block(&actors, extent).await,
            Self::LongAmongShort(milliseconds) => {
                long_among_short(&actors, Duration::from_millis(milliseconds), extent).await
            }
            Self::TimerBesideBusy => beside_busy(&actors, extent, sleeps(extent.sampling)).await,
            Self::EchoBesideBusy => {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
                beside_busy(&actors, extent, echoes(listener, extent.sampling)).await
            }
            Self::BlockInPlace => {
                ask_from_job(&actors, extent, |ask| block_in_place(|| Handle::current().block_on(ask))).await
            }
            Self::JoinAsker => ask_from_job(&actors, extent, ask_on_thread).await,
            Self::JoinAskerInPlace => {
                ask_from_job(&actors, extent, |ask| block_in_place(|| ask_on_thread(ask))).await
            }
            Self::SpawnBlocking => ask_from_spawn_blocking(&actors, extent).await,
            Self::Outside(stranger) => outside(&actors, stranger, extent).await,
        }
    }
}

/// Lets all actors come to rest.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(3)).await;
}

/// Lets an actor run a job in a handler that is not `async`, and returns the result.
async fn in_job<A: Actors, T: Send + 'static>(worker: &A::Worker, job: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = oneshot::channel();
    A::run(
        worker,
        Box::new(move || {
            let result = job();
            assert!(done.send(result).is_ok(), "the scene waits");
        }),
    );
    is_done.await.expect("a worker that runs")
}

/// The same in an `async` handler.
async fn in_long_job<A: Actors, T: Send + 'static>(
    worker: &A::Worker,
    job: impl Future<Output = T> + Send + 'static,
) -> T {
    let (done, is_done) = oneshot::channel();
    A::run_long(
        worker,
        Box::pin(async move {
            let result = job.await;
            assert!(done.send(result).is_ok(), "the scene waits");
        }),
    );
    is_done.await.expect("a worker that runs")
}

async fn neighbour<A: Actors>(actors: &A, stall: Stall, extent: &Extent) -> Vec<Duration> {
    let [teller, a, b] = [actors.worker(), actors.worker(), actors.worker()];
    let mut samples = Vec::with_capacity(extent.samples);
    let time = extent.stall;
    for asks in 1..=extent.samples as u64 {
        settle().await;
        let began = Instant::now();
        let job = tell_and_ask::<A>(&a, &b, move || stall.spend(time));
        let (took, answer) = in_long_job::<A, _>(&teller, job).await;
        assert_eq!(answer, asks);
        samples.push(took);
        A::ask(&a).await;
        assert!(began.elapsed() >= time, "the neighbour stalls its thread");
    }
    samples
}

/// Tells one actor a job and asks another one. Returns how long that took, and the answer.
fn tell_and_ask<A: Actors>(
    told: &A::Worker,
    asked: &A::Worker,
    job: impl FnOnce() + Send + 'static,
) -> impl Future<Output = (Duration, u64)> + Send + 'static {
    let (told, asked) = (told.clone(), asked.clone());
    async move {
        let began = Instant::now();
        A::run(&told, Box::new(job));
        let answer = A::ask(&asked).await;
        (began.elapsed(), answer)
    }
}

async fn neighbour_and_stranger<A: Actors>(actors: &A, stranger: Stranger, extent: &Extent) -> Vec<Duration> {
    let [teller, a, b, c] = [actors.worker(), actors.worker(), actors.worker(), actors.worker()];
    let (start, starts) = std::sync::mpsc::channel();
    let (tell, mut told) = mpsc::unbounded_channel();
    // Blocks the stranger's thread, which has nothing else to do.
    stranger.spawn(&Handle::current(), async move {
        while starts.recv().is_ok() {
            let began = Instant::now();
            let answer = A::ask(&c).await;
            tell.send((began.elapsed(), answer)).expect("a scene that goes on");
        }
    });
    let mut samples = Vec::with_capacity(extent.samples);
    let time = extent.stall;
    for asks in 1..=extent.samples as u64 {
        settle().await;
        let start = start.clone();
        let job = tell_and_ask::<A>(&a, &b, move || {
            start.send(()).expect("a stranger that waits");
            Stall::Block.spend(time);
        });
        in_long_job::<A, _>(&teller, job).await;
        let (took, answer) = told.recv().await.expect("a stranger that asks");
        assert_eq!(answer, asks);
        samples.push(took);
        A::ask(&a).await;
    }
    samples
}

async fn fan_out<A: Actors>(actors: &A, threads: Threads, extent: &Extent) -> Vec<Duration> {
    let teller = actors.worker();
    let told: Vec<_> = (0..threads.count()).map(|_| actors.worker()).collect();
    let mut samples = Vec::with_capacity(extent.fan_outs);
    let time = extent.job;
    for _ in 0..extent.fan_outs {
        settle().await;
        let (tell, mut done) = mpsc::unbounded_channel();
        let workers = told.clone();
        let began = Instant::now();
        A::run(
            &teller,
            Box::new(move || {
                for worker in &workers {
                    let tell = tell.clone();
                    A::run(
                        worker,
                        Box::new(move || {
                            Stall::Block.spend(time);
                            tell.send(began.elapsed()).expect("a scene that waits");
                        }),
                    );
                }
            }),
        );
        let mut ends = Vec::with_capacity(told.len());
        while let Some(end) = done.recv().await {
            ends.push(end);
        }
        assert_eq!(ends.len(), told.len(), "each job is done");
        samples.extend(ends.into_iter().max());
    }
    samples
}

async fn tell_then_block<A: Actors>(actors: &A, extent: &Extent) -> Vec<Duration> {
    let teller = actors.worker();
    let workers: Vec<_> = (0..TOLD).map(|_| actors.worker()).collect();
    let (tell, mut handled) = mpsc::unbounded_channel();
    settle().await;
    let time = extent.stall_of_teller;
    in_job::<A, _>(&teller, move || {
        let began = Instant::now();
        for worker in &workers {
            let tell = tell.clone();
            A::run(worker, Box::new(move || tell.send(began.elapsed()).expect("a scene that waits")));
        }
        drop(tell);
        Stall::Block.spend(time);
    })
    .await;
    let mut samples = Vec::with_capacity(TOLD);
    while let Some(sample) = handled.recv().await {
        samples.push(sample);
    }
    assert_eq!(samples.len(), TOLD, "each message is handled");
    samples
}

async fn long_among_short<A: Actors>(actors: &A, time: Duration, extent: &Extent) -> Vec<Duration> {
    let [long, asker] = [actors.worker(), actors.worker()];
    let short: Vec<_> = (0..SHORT).map(|_| actors.worker()).collect();
    let sampling = extent.sampling.max(time * extent.long_turns);
    in_long_job::<A, _>(&asker, async move {
        let ended = Arc::new(AtomicU64::new(0));
        let mut told = 0;
        let mut samples = Vec::new();
        let began = Instant::now();
        while began.elapsed() < sampling && samples.len() < MOST_SAMPLES {
            // The first ask wakes a thread; each other one follows an answer.
            tokio::time::sleep(TICK).await;
            if ended.load(Ordering::Acquire) == told {
                told += 1;
                let ended = Arc::clone(&ended);
                A::run(
                    &long,
                    Box::new(move || {
                        Stall::Block.spend(time);
                        ended.fetch_add(1, Ordering::Release);
                    }),
                );
            }
            for worker in &short {
                let began = Instant::now();
                A::ask(worker).await;
                samples.push(began.elapsed());
            }
        }
        assert!(ended.load(Ordering::Acquire) > 1, "the long handler runs again and again");
        samples
    })
    .await
}

async fn beside_busy<A: Actors>(
    actors: &A,
    extent: &Extent,
    witness: impl Future<Output = Vec<Duration>> + Send + 'static,
) -> Vec<Duration> {
    let counts: Vec<_> = (0..extent.busy).map(|_| Arc::new(AtomicU64::new(0))).collect();
    for count in &counts {
        A::run_forever(&actors.worker(), Duration::ZERO, Arc::clone(count));
    }
    let handled = || counts.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u64>();
    while handled() < extent.busy as u64 {
        settle().await;
    }
    let before = handled();
    let samples = tokio::spawn(witness).await.expect("a witness that does not panic");
    assert!(handled() > before, "the actors are busy");
    samples
}

async fn sleeps(sampling: Duration) -> Vec<Duration> {
    let began = Instant::now();
    let mut samples = Vec::new();
    while began.elapsed() < sampling && samples.len() < MOST_SAMPLES {
        let began = Instant::now();
        tokio::time::sleep(TICK).await;
        samples.push(began.elapsed());
    }
    samples
}

async fn echoes(listener: TcpListener, sampling: Duration) -> Vec<Duration> {
    const LENGTH: usize = 16;
    let mut client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a server");
    client.set_nodelay(true).expect("a socket");
    tokio::spawn(async move {
        let (mut server, _) = listener.accept().await.expect("a client");
        server.set_nodelay(true).expect("a socket");
        let mut buffer = [0; LENGTH];
        // Ends with the client.
        while server.read_exact(&mut buffer).await.is_ok() {
            server.write_all(&buffer).await.expect("a client that reads");
        }
    });
    let began = Instant::now();
    let mut samples = Vec::new();
    while began.elapsed() < sampling && samples.len() < MOST_SAMPLES {
        let sent = [u8::try_from(samples.len() % 256).expect("a remainder"); LENGTH];
        let mut received = [0; LENGTH];
        let began = Instant::now();
        client.write_all(&sent).await.expect("a server that reads");
        client.read_exact(&mut received).await.expect("a server that answers");
        samples.push(began.elapsed());
        assert_eq!(received, sent);
    }
    samples
}

/// Asks another actor from within a handler that is not `async`, in some way that blocks.
async fn ask_from_job<A: Actors>(actors: &A, extent: &Extent, block_on: fn(LongJob)) -> Vec<Duration> {
    let [asker, other] = [actors.worker(), actors.worker()];
    let mut samples = Vec::with_capacity(extent.blocking_asks);
    for asks in 1..=extent.blocking_asks as u64 {
        settle().await;
        let ask = answered::<A>(&other, asks);
        let job = move || {
            let began = Instant::now();
            block_on(ask);
            began.elapsed()
        };
        samples.push(in_job::<A, _>(&asker, job).await);
    }
    samples
}

/// An ask, and the check of its answer.
fn answered<A: Actors>(worker: &A::Worker, answer: u64) -> LongJob {
    let worker = worker.clone();
    Box::pin(async move { assert_eq!(A::ask(&worker).await, answer) })
}

fn ask_on_thread(ask: LongJob) {
    let runtime = Handle::current();
    std::thread::spawn(move || runtime.block_on(ask)).join().expect("a thread that does not panic");
}

async fn ask_from_spawn_blocking<A: Actors>(actors: &A, extent: &Extent) -> Vec<Duration> {
    let [asker, other] = [actors.worker(), actors.worker()];
    let mut samples = Vec::with_capacity(extent.blocking_asks);
    for asks in 1..=extent.blocking_asks as u64 {
        settle().await;
        let ask = answered::<A>(&other, asks);
        let job = async move {
            let began = Instant::now();
            spawn_blocking(|| Handle::current().block_on(ask)).await.expect("an ask that does not panic");
            began.elapsed()
        };
        samples.push(in_long_job::<A, _>(&asker, job).await);
    }
    samples
}

async fn outside<A: Actors>(actors: &A, stranger: Stranger, extent: &Extent) -> Vec<Duration> {
    let asked = actors.worker();
    let (tell, told) = oneshot::channel();
    let sampling = extent.sampling;
    stranger.spawn(&Handle::current(), async move {
        let began = Instant::now();
        let mut samples = Vec::new();
        while began.elapsed() < sampling && samples.len() < MOST_SAMPLES {
            let began = Instant::now();
            let answer = A::ask(&asked).await;
            samples.push(began.elapsed());
            assert_eq!(answer, samples.len() as u64);
        }
        assert!(tell.send(samples).is_ok(), "the scene waits");
    });
    told.await.expect("a stranger that asks")
}
