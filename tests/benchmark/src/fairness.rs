//! How an actor whose mailbox is never empty affects others, and how soon its own stop and failure take effect. For
//! `supervise`, and for a hand-written loop if it has a counterpart.
//!
//! The flooded actor sends itself one message for each that it handles.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use supervise::prelude::*;
use tokio::sync::mpsc;

use crate::framework::{Flavour, Framework, raw::Raw, supervise::Supervise};
use crate::measure::percentile;

/// How many messages wait in the flooded mailbox at any time.
const WAITING: usize = 1_000;
/// How long asks are timed.
const SAMPLING: Duration = Duration::from_secs(2);
/// Stops and failures of each kind.
const EVENTS: usize = 200;
/// How long a handler of the flood runs.
const HANDLERS: [Duration; 2] = [Duration::ZERO, Duration::from_micros(10)];

#[derive(Debug, thiserror::Error)]
#[error("as told")]
pub struct AsTold;

/// What the flooded actor shares with its observer.
#[derive(Debug)]
struct Flood {
    handler: Duration,
    handled: AtomicU64,
    fails_next: AtomicBool,
    seen: mpsc::UnboundedSender<Seen>,
}

#[derive(Debug)]
struct Seen {
    what: What,
    at: Instant,
    /// How many messages had been handled.
    handled: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Started,
    Failed,
    Stopped,
}

#[actor]
#[derive(Debug)]
pub struct Flooded {
    flood: Arc<Flood>,
}

#[actor]
impl Flooded {
    #[pre_start]
    fn starts(&mut self) {
        self.see(What::Started);
    }

    #[handler]
    fn flood(&mut self, ctx: &mut Context<Self>) -> Result<(), AsTold> {
        work(self.flood.handler);
        self.flood.handled.fetch_add(1, Ordering::Relaxed);
        // A stopping actor is no longer flooded.
        drop(ctx.me().flood().tell());
        if self.flood.fails_next.swap(false, Ordering::Relaxed) {
            self.see(What::Failed);
            return Err(AsTold);
        }
        Ok(())
    }

    #[post_stop]
    fn stops(&mut self, ctx: &mut Context<Self>) {
        assert!(!ctx.was_aborted());
        self.see(What::Stopped);
    }
}

impl Flooded {
    fn see(&self, what: What) {
        let handled = self.flood.handled.load(Ordering::Relaxed);
        // When a measurement is over, nobody receives this.
        let _looked = self.flood.seen.send(Seen { what, at: Instant::now(), handled });
    }
}

/// Keeps the thread busy.
fn work(time: Duration) {
    if time > Duration::ZERO {
        let began = Instant::now();
        while began.elapsed() < time {
            black_box(());
        }
    }
}

#[actor]
#[supervise(one_for_one, on(AsTold) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn hire(&mut self, flood: Arc<Flood>, ctx: &mut Context<Self>) -> Result<FloodedRef, SpawnError> {
        ctx.spawn_anonymous(move || Flooded { flood: Arc::clone(&flood) })
    }
}

/// A flooded actor under a parent, from outside.
struct Subject {
    flooded: FloodedRef,
    flood: Arc<Flood>,
    seen: mpsc::UnboundedReceiver<Seen>,
}

impl Subject {
    async fn start(parent: &ParentRef, handler: Duration) -> Self {
        let (tell, seen) = mpsc::unbounded_channel();
        let flood = Arc::new(Flood {
            handler,
            handled: AtomicU64::new(0),
            fails_next: AtomicBool::new(false),
            seen: tell,
        });
        let flooded = parent.hire(Arc::clone(&flood)).await.expect("a parent that runs");
        for _ in 0..WAITING {
            flooded.flood().tell().expect("an actor that runs");
        }
        let mut subject = Self { flooded, flood, seen };
        subject.sees(What::Started).await;
        subject.is_under_way().await;
        subject
    }

    /// Waits for the next of these events.
    async fn sees(&mut self, what: What) -> Seen {
        loop {
            let seen = self.seen.recv().await.expect("an actor that runs");
            if seen.what == what {
                return seen;
            }
        }
    }

    /// Waits until it has handled a few messages more.
    async fn is_under_way(&self) {
        let before = self.flood.handled.load(Ordering::Relaxed);
        while self.flood.handled.load(Ordering::Relaxed) < before + 10 {
            tokio::task::yield_now().await;
        }
    }
}

/// The command `fairness`.
pub fn run() {
    println!("Ask of an idle actor while another one's mailbox is never empty (µs):\n");
    println!("| flood | runtime | | p50 | p99 | p99.9 |");
    println!("|---|---|---|---|---|---|");
    for flood in [None, Some(HANDLERS[0]), Some(HANDLERS[1])] {
        for flavour in Flavour::ALL {
            for (name, mut samples) in [
                ("raw", Raw::block_on(flavour, asks_of_raw(flood))),
                ("supervise", Supervise::block_on(flavour, asks(flood))),
            ] {
                samples.sort();
                let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| micros(percentile(&samples, share)));
                println!("| {} | {} | {name} | {p50} | {p99} | {p999} |", describe(flood), flavour.name());
            }
        }
    }
    println!("\nStop and failure of the flooded actor itself, {EVENTS} times each (µs):\n");
    println!("| flood | runtime | event | p50 | p99 | longest | messages handled meanwhile, at most |");
    println!("|---|---|---|---|---|---|---|");
    for handler in HANDLERS {
        for flavour in Flavour::ALL {
            for (name, mut events) in [
                ("stop requested → `post_stop`", Supervise::block_on(flavour, stops(handler))),
                ("`Err` → new instance", Supervise::block_on(flavour, failures(handler))),
            ] {
                events.sort();
                let times: Vec<_> = events.iter().map(|(time, _)| *time).collect();
                let handled = events.iter().map(|(_, handled)| handled).max().expect("at least one event");
                let [p50, p99, longest] = [0.5, 0.99, 1.0].map(|share| micros(percentile(&times, share)));
                let (flood, flavour) = (describe(Some(handler)), flavour.name());
                println!("| {flood} | {flavour} | {name} | {p50} | {p99} | {longest} | {handled} |");
            }
        }
    }
}

fn describe(flood: Option<Duration>) -> String {
    match flood {
        None => "none".to_owned(),
        Some(Duration::ZERO) => "handlers that do nothing".to_owned(),
        Some(handler) => format!("handlers of {} µs", handler.as_micros()),
    }
}

fn micros(time: Duration) -> String {
    format!("{:.1}", time.as_nanos() as f64 / 1e3)
}

async fn asks(flood: Option<Duration>) -> Vec<Duration> {
    let framework = Supervise::start(Flavour::CurrentThread);
    let counter = framework.counter().await;
    let system = ActorSystem::new("fairness");
    let parent = system.spawn("parent", || Parent).expect("a free name");
    let _subject = match flood {
        Some(handler) => Some(Subject::start(&parent, handler).await),
        None => None,
    };
    sample::<Supervise>(&counter).await
}

async fn asks_of_raw(flood: Option<Duration>) -> Vec<Duration> {
    let counter = Raw.counter().await;
    if let Some(handler) = flood {
        let (sender, mut inbox) = mpsc::unbounded_channel();
        for _ in 0..WAITING {
            sender.send(()).expect("a receiver that lives");
        }
        tokio::spawn(async move {
            while let Some(()) = inbox.recv().await {
                work(handler);
                sender.send(()).expect("a receiver that lives");
            }
        });
    }
    sample::<Raw>(&counter).await
}

async fn sample<F: Framework>(counter: &F::Counter) -> Vec<Duration> {
    let began = Instant::now();
    let mut samples = Vec::new();
    while began.elapsed() < SAMPLING {
        // Lets the flooded actor have its turn. Asks in direct succession would be answered between two of its
        // turns.
        tokio::task::yield_now().await;
        let began = Instant::now();
        F::total(counter).await;
        samples.push(began.elapsed());
    }
    samples
}

/// How long each stop took, and how many messages the actor handled meanwhile.
async fn stops(handler: Duration) -> Vec<(Duration, u64)> {
    let system = ActorSystem::new("fairness");
    let parent = system.spawn("parent", || Parent).expect("a free name");
    let mut events = Vec::with_capacity(EVENTS);
    for _ in 0..EVENTS {
        let mut subject = Subject::start(&parent, handler).await;
        let requested = Instant::now();
        subject.flooded.actor_ref().stop();
        let handled_before = subject.flood.handled.load(Ordering::Relaxed);
        let stopped = subject.sees(What::Stopped).await;
        events.push((stopped.at - requested, stopped.handled - handled_before));
    }
    events
}

/// How long each restart took, and how many messages the actor handled meanwhile.
async fn failures(handler: Duration) -> Vec<(Duration, u64)> {
    let system = ActorSystem::new("fairness");
    let parent = system.spawn("parent", || Parent).expect("a free name");
    let mut subject = Subject::start(&parent, handler).await;
    let mut events = Vec::with_capacity(EVENTS);
    for _ in 0..EVENTS {
        subject.is_under_way().await;
        subject.flood.fails_next.store(true, Ordering::Relaxed);
        let failed = subject.sees(What::Failed).await;
        let started = subject.sees(What::Started).await;
        events.push((started.at - failed.at, started.handled - failed.handled));
    }
    events
}
