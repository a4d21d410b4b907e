//! Many children fail at once, while another task wants to run every millisecond.
//!
//! Rule 7.10: children that failed before a restart of their group reached them restart once. A mailbox survives a restart, so
//! a child that had not handled its message yet fails after the restart, which is another failure. Meanwhile the runtime
//! continues to run other tasks.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise::{Backoff, Count, Directive, Props, Scope, Strategy};

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

#[actor]
struct Child {
    starts: Arc<AtomicU64>,
}

#[actor]
impl Child {
    #[pre_start]
    fn started(&mut self) {
        self.starts.fetch_add(1, Relaxed);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), AsTold> {
        Err(AsTold)
    }

    /// Answered by a child that is well.
    #[handler]
    fn ping(&mut self) {}
}

#[actor]
#[supervise(on(AsTold) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn children(&mut self, number: usize, starts: Arc<AtomicU64>, ctx: &mut Context<Self>) -> Vec<ChildRef> {
        let child = || {
            let starts = Arc::clone(&starts);
            ctx.spawn_anonymous(move || Child { starts: Arc::clone(&starts) }).expect("a running parent")
        };
        std::iter::repeat_with(child).take(number).collect()
    }
}

/// How long the threads of a runtime have had a processor, so that neither other processes nor other tests count. If the system does
/// not say that, it is the time.
#[derive(Clone)]
struct Clock {
    begun: Instant,
    threads: Arc<Mutex<Vec<PathBuf>>>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { begun: Instant::now(), threads: Arc::default() }
    }
}

impl Clock {
    fn counts_this_thread(&self) {
        // A link to the number of this thread.
        if let Ok(thread) = fs::canonicalize("/proc/thread-self") {
            self.threads.lock().expect("no panic").push(thread.join("schedstat"));
        }
    }

    fn now(&self) -> Duration {
        let nanos = |thread: &PathBuf| fs::read_to_string(thread).ok()?.split(' ').next()?.parse().ok();
        let threads = self.threads.lock().expect("no panic");
        let busy: Option<Vec<u64>> = threads.iter().map(nanos).collect();
        match busy {
            Some(busy) if !busy.is_empty() => Duration::from_nanos(busy.iter().sum()),
            Some(_) | None => self.begun.elapsed(),
        }
    }
}

/// The observations of one storm.
#[derive(Debug)]
struct Seen {
    restarts: u64,
    /// The longest time between two turns of the task that wants a turn every millisecond.
    gap: Duration,
}

/// Wants a turn every millisecond until the storm is over, and one more. Returns the longest time that it waited.
async fn tick(done: Arc<AtomicBool>, clock: Clock) -> Duration {
    let (mut gap, mut last) = (Duration::ZERO, clock.now());
    loop {
        let was_done = done.load(Relaxed);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let now = clock.now();
        gap = gap.max(now.saturating_sub(last));
        last = now;
        if was_done {
            return gap;
        }
    }
}

/// Which child fails first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    FirstFirst,
    LastFirst,
}

/// Lets all children fail at once, and waits until each has recovered or ended.
async fn storm(children: usize, order: Order, strategy: Strategy, directive: Directive, clock: Clock) -> Seen {
    let system = ActorSystem::new("storm");
    let props = Props::new(|| Parent).supervision_unchecked(strategy, move |_, _| Ok(directive));
    let parent = system.spawn_with("parent", props).expect("a free name");
    let starts = Arc::new(AtomicU64::new(0));
    let refs = parent.children(children, Arc::clone(&starts)).await.expect("an answer");
    for child in &refs {
        child.ping().await.expect("a child that is well");
    }
    let before = starts.load(Relaxed);
    let done = Arc::new(AtomicBool::new(false));
    let ticker = tokio::spawn(tick(Arc::clone(&done), clock));
    tokio::task::yield_now().await;
    let fail = |child: &ChildRef| {
        // With several workers, other children already run, and a limit may have stopped this one.
        let _stopped = child.fail().tell();
    };
    match order {
        Order::FirstFirst => refs.iter().for_each(fail),
        Order::LastFirst => refs.iter().rev().for_each(fail),
    }
    let mut well = 0;
    for child in &refs {
        match child.ping().await {
            Ok(()) => well += 1,
            Err(error) if error.has_stopped() => {}
            Err(other) => panic!("{other}"),
        }
    }
    done.store(true, Relaxed);
    let gap = ticker.await.expect("no panic");
    if strategy.limit.is_unlimited() && directive == Directive::Restart {
        assert_eq!(well, children, "under {strategy:?}");
    }
    system.terminate().await;
    Seen { restarts: starts.load(Relaxed) - before, gap }
}

/// The longest that another task may have to wait for a turn, for each worker: while it waits, all are busy. tokio looks for timers
/// that are due only after each 61st poll of a busy worker, so a poll may take 0.8 ms, or twice as long without optimization.
const BOUND: Duration = Duration::from_millis(if cfg!(debug_assertions) { 100 } else { 50 });

/// How often a storm is repeated if the ticker waits too long.
const TRIES: usize = 5;

/// Every strategy with each directive, and a restart also with limits and with a delay.
fn storms() -> impl Iterator<Item = (Strategy, Directive)> {
    let backoff = Backoff::exponential(Duration::from_millis(20), Duration::from_millis(20));
    [Strategy::one_for_one(), Strategy::all_for_one(), Strategy::rest_for_one()].into_iter().flat_map(
        move |strategy| {
            [
                (strategy, Directive::Restart),
                (strategy.max_retries(3), Directive::Restart),
                (strategy.max_retries(3).count(Count::Supervisor), Directive::Restart),
                (strategy.backoff(backoff), Directive::Restart),
                (strategy, Directive::Stop),
                (strategy, Directive::Escalate),
            ]
        },
    )
}

/// Whether each failure reaches all children that failed before, so that n failures take n² steps (rule 7.10).
fn reaches_again(order: Order, strategy: Strategy, directive: Directive) -> bool {
    let more_than_a_restart =
        strategy.backoff.is_some() || strategy.count == Count::Supervisor || directive == Directive::Stop;
    order == Order::LastFirst && strategy.scope == Scope::RestForOne && more_than_a_restart
}

/// Runs every storm.
fn run(workers: usize, children: usize, order: Order, most_restarts: u64) {
    let clock = Clock::default();
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    let runtime = builder
        .worker_threads(workers)
        .enable_all()
        .on_thread_start({
            let clock = clock.clone();
            move || clock.counts_this_thread()
        })
        .build()
        .expect("a runtime");
    let bound = BOUND * u32::try_from(workers).expect("few workers");
    for (strategy, directive) in storms() {
        let children = if reaches_again(order, strategy, directive) { children / 10 } else { children };
        let too_long: Vec<_> = (0..TRIES)
            .map_while(|_| {
                let storm = storm(children, order, strategy, directive, clock.clone());
                let seen = runtime.block_on(runtime.spawn(storm)).expect("no panic");
                assert!(seen.restarts <= most_restarts * children as u64, "{seen:?} under {strategy:?}");
                if (strategy, directive) == (Strategy::one_for_one(), Directive::Restart) {
                    assert_eq!(seen.restarts, children as u64, "one restart for each failure");
                }
                println!(
                    "{workers} workers, {children} children, {order:?}, {strategy:?}, {directive:?}: {seen:?}"
                );
                (seen.gap > bound).then_some(seen)
            })
            .collect();
        assert!(too_long.len() < TRIES, "{too_long:?} under {strategy:?}, {directive:?}");
    }
}

/// One worker: all have failed before their parent has its turn.
#[test]
fn a_storm_on_one_worker_restarts_each_child_once() {
    for children in [1_000, 10_000] {
        for order in [Order::FirstFirst, Order::LastFirst] {
            run(1, children, order, 1);
        }
    }
}

/// The parent decides while some have not failed yet: they do so as new instances, which is a new failure.
#[test]
fn a_storm_on_two_workers_restarts_each_child_a_few_times() {
    for children in [1_000, 10_000] {
        for order in [Order::FirstFirst, Order::LastFirst] {
            run(2, children, order, 10);
        }
    }
}
